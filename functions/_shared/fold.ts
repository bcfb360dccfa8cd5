// The words of a text as the search index has them: private.fold and private.words_of in TypeScript.

/** The letters of scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese), for a character class. */
export const unspaced =
  '\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff'

/** A table with many letters for one Latin text: `ae:æᴁ`. */
const listed = (table: string): [letter: string, latin: string][] =>
  table.trim().split(/\s+/).map((entry) => entry.split(':')).flatMap(([latin = '', letters = '']) =>
    [...letters].map((letter): [string, string] => [letter, latin])
  )

// What Unicode does not decompose, as unaccent writes it, the dictionary of Postgres.
const undecomposed = listed(`a:ᴀᶏⱥ aa:ꜳ ae:æᴁ ao:ꜵ au:ꜷ av:ꜹꜻ ay:ꜽ b:ƀƃɓʙᴃᵬᶀ c:ƈȼɕᴄꞓ ce:₠ cr:₢ d:ðđƌȡɖɗᴅᴆᵭᶁᶑꝱꝺ db:ȸ
  dz:ʣʥ e:ɇɛᴇᶒᶓⱸ f:ƒᵮᶂꜰꝼ g:ǥɠɡɢʛᶃꞡ h:ħɦɧʜⱨ hv:ƕ i:ıɨɪᵻᶖ j:ȷɉɟʝᴊ k:ƙᴋᶄⱪꝁꝃꝅꞣ l:łƚȴɫɬɭʟᴌᶅⱡꝇꝉꝲ ll:ỻ ls:ʪ lz:ʫ m:ɱᴍᵯᶆꝳ
  n:ŋƞȵɲɳɴᵰᶇꝴꞑꞥ o:øᴏⱺꝋꝍ oe:œɶ oi:ƣ oo:ꝏ p:ƥᴘᵱᵽᶈ℘ꝑꝓꝕ pts:₧ q:ĸʠꝗꝙ qp:ȹ r:ɍɼɽɾʀᵲᵳᶉꝵꝶꞧ rs:₹ rx:℞ s:ȿʂᵴᶊẜẝꜱꞩ ss:ß
  t:ŧƫƭȶʈᴛᵵⱦꝷꞇ th:þᵺꝥꝧ tl:₺ ts:ʦ u:ʉᴜᵾᶙ ue:ᵫ v:ʋᴠᶌỽⱱⱴꝟ vy:ꝡ w:ᴡⱳ x:ᶍ y:ƴɏʏỿ z:ƶȥɀʐʑᴢᵶᶎⱬ 0:〇
  (c):© (r):® (p):℗ fr.:₣ l.:₤ -:\u00adʹʺʻʼʽˆˈˋː`)

// The dictionary writes ё as е, as most people do.
const cyrillic = listed(`a:а b:б v:в g:гґѓ d:д e:еэё z:з i:иії y:йы k:кќ l:л m:м n:н o:о p:п r:р s:с t:т u:уў f:ф kh:х
  ts:ц ch:ч sh:ш shch:щ :ъь yu:ю ya:я ye:є dj:ђ j:ј lj:љ nj:њ c:ћ dz:џѕ zh:ж`)
const greek = listed('a:α v:β g:γ d:δ e:ε z:ζ i:ηι th:θ k:κ l:λ m:μ n:ν x:ξ o:οω p:π r:ρ s:σς t:τ y:υ f:φ ch:χ ps:ψ')

const latin = new Map([...undecomposed, ...cyrillic, ...greek, ['ου', 'ou']])

/** Folds case, accents and compatibility forms, and writes Greek and Cyrillic in Latin letters. */
export const fold = (text: string): string =>
  text.normalize('NFKC').toLowerCase()
    // The dictionary leaves four Latin letters composed, and of the Cyrillic ones all but ё.
    .replace(/(?![ǣǯǽǿ])[\p{Script=Latin}\p{Script=Greek}]/gu, (letter) => letter.normalize('NFD'))
    .replace(/[\u0300-\u0362\u20dd-\u20e0\u20e2-\u20e4]/g, '')
    .replace(/ου|[^\0-\x7f]/gu, (letter) => latin.get(letter) ?? letter)

const separators = '\\p{White_Space}\\p{P}\\p{S}\\p{Cc}'
const word = new RegExp(`(?![${separators}])[${unspaced}]|[^${separators}${unspaced}]+`, 'gu')

/** The folded words of a text, in order. In scripts without spaces every character is a word. */
export const wordsOf = (text: string): string[] =>
  (fold(text).match(word) ?? []).map((found) => found.length > 60 ? [...found].slice(0, 60).join('') : found)
