/** The words of a text are the same to the Edge Functions, which highlight them, as to the index. */
import { wordsOf } from '../../functions/_shared/fold.ts'
import { is, sql, test } from './fixture.ts'

const between = (first: string, last: string): string[] => {
  const [from, to] = [first.codePointAt(0)!, last.codePointAt(0)!]
  return Array.from({ length: to - from + 1 }, (_, place) => String.fromCodePoint(from + place))
    .filter((letter) => /^[\p{L}\p{N}]$/u.test(letter))
}
/** Which of the texts have other words in SQL. */
const differences = async (texts: string[]) => {
  const rows = await sql(
    `select array_to_json(private.words_of(value))::text
     from json_array_elements_text($1::text::json) with ordinality as listed (value, place) order by place`,
    [JSON.stringify(texts)],
  )
  is(rows.length, texts.length)
  const words = rows.map((row) => typeof row === 'string' ? JSON.parse(row) : row)
  return texts.flatMap((text, place) => {
    const [ours, theirs] = [wordsOf(text), words[place]].map((list) => list.join('|'))
    return ours === theirs ? [] : [{ text, ours, theirs }]
  })
}
const isSame = async (texts: string[]) => is(await differences(texts), [])
/** A letter alone, within a word, and as a capital. */
const written = (letters: string[]) => letters.map((letter) => `${letter} x${letter}y ${letter.toUpperCase()}s`)

test('every letter of Latin-1 and Latin Extended-A folds alike', () =>
  isSame(written([...between('À', 'ÿ'), ...between('Ā', 'ſ'), 'ª', 'º', 'µ', '²', '½', '©', '®', '·', '¿'])))
test('so does every letter of Greek, with and without accents', () =>
  isSame(written([...between('Ͱ', 'ώ'), ...between('ἀ', 'ῼ')])))
test('so does every letter of Cyrillic', () =>
  isSame(written([...between('Ѐ', 'џ'), 'Ґ', 'ґ', 'Ӏ', 'ә', 'ң', 'ө', 'ү'])))
test('so do letters that Unicode does not decompose', () =>
  isSame([...'ǣǯǽǿẞßæœøłđıþðħŋŧƀƒȼɇɐɓɛɪɴʀẜỻᴀᴇᴏᴛꜰꜱꝏꞑⱥ℘℞₣₤₧₹₺℗〇'].map((letter) => `${letter} x${letter}y`)))
test('so do ligatures, full-width, small, circled and joined letters', () =>
  isSame(written([...between('ﬀ', 'ﬆ'), ...between('Ａ', 'ｚ'), ...'０９㍿㎏㏄℡№ⅣⅸⒶ①⑩㈱ﷺﻼ'])))
// deno-fmt-ignore
test('in scripts without spaces each letter is a word', () =>
  isSame([
    ...written([...'京都東寿司々〆のがバパヴーゟヿﾊｶ한글กขคไำລາວမြကខ㐀龥豈']), 'か\u3099く 東京でラーメン', 'ﾊﾟﾘでｶﾞｲﾄﾞ', 'ภาษาไทย', 'ສະບາຍດີ',
    '二〇二四年、東京・京都', '한국어 \u1112\u1161\u11ab',
  ]))
// deno-fmt-ignore
test('so do texts as people write them', () =>
  isSame([
    '', ' ', '-', 'x'.repeat(100), '東'.repeat(80), `${'é'.repeat(70)} a`, 'a\u00adb', 'a\u0301\u0316b', '\u0301',
    'z\u0301\u0316z', "O'Brien d’Angelo L‘Aquila ʻOkina", 'Straße ﬁnd cafe\u0301s, “Ünï” ½ Ångström',
    '„Zitat“ (eins), zwei/drei; vier… fünf!', 'Ελλάδα, Αθήνα και Ουρανούπολη', 'ΟΔΥΣΣΕΥΣ Ὀδυσσεύς', 'Ουζο ούζο οὐρανός',
    'Всё ещё учу ёлку: Щукин съезд, подъезд, июнь', 'Київ, Їжак, Ґанок, Єва', 'Београд, Њујорк, Љубљана, Ђорђе, Џез',
    'Ѓорѓи Ќосе Ѕвезда', 'а\u0301лый и\u0306од', 'İstanbul ıslak', 'Łódź Žižek Đorđe', 'naïve façade Zoë',
    'Đà Nẵng, Huế, Phở', 'Ǻǻ Șș Țț', 'Þórður Æsa Øystein', 'tai-chi, rock’n’roll; a_b 1,5 km',
    'line\nbreak\ttab\u00a0space\u2028end\u3000wide',
  ]))
