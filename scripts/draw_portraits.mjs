// Draws the portraits of the demo's people, demo/portraits/<name>.webp: flat faces of our own, of nobody who exists.
// node scripts/draw_portraits.mjs [a sheet to look at.png]; Chromium turns the drawings into WebP.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { chromium } from 'playwright-core'

const folder = new URL('../demo/portraits/', import.meta.url)
const people = [1, 2].flatMap((number) => {
  const seed = readFileSync(new URL(`../sql/seed/demo_people_${number}.sql`, import.meta.url), 'utf8')
  const row =
    /'([a-z.-]+)@example\.com', (?:'(?:[^']|'')+', ){3}(\d+|null),(?:(?!@example)[^])*?\n {6}(true|false), int/g
  return [...seed.matchAll(row)].filter(([, , , hasPortrait]) => hasPortrait === 'true')
    .map(([, name, age]) => ({ name, age: age === 'null' ? 40 : Number(age) }))
})

// Who is drawn with the features of the second set, and who with darker skin; the names decide, as readers would.
const men = new Set(
  `tomas aderito henrique duarte rui nuno xavier goncalo martim ailton jacinto oriol farhan gaspar adria jose samba
  alvaro ismael francisco ruben ettore davide marius gennaro raffaele ciro pasquale salvatore kwabena beniamino antonino
  baptiste idriss pierrick loic vartan clement tristan gilles ousmane herve cemal yousef detlef lennart konrad jorg enno
  tesfay jonte zbigniew callum fergus rory delroy tomasz gwilym brian chidi marek nikos ermal dimosthenis anestis levon
  thodoris iordanis haruto benoit shinji daisuke thiago hiroshi kenta josue hank gildardo wilberth jeanrobert mauricio
  anselmo ulises ramiro oscar tobias raul modou lautaro german samir leo jeansebastien douglas ewan phil abdelhak hamza
  driss soufiane mbarek younes ayoub brahim`.split(/\s+/),
)
const dark = new Set(
  `aderito ailton samba chiamaka kwabena moinaecha ousmane tesfay delroy hodan chidi blessing modou jeanrobert charlene`
    .split(/\s+/),
)
const brown = new Set(
  `priya farhan fatima thilini idriss zoubida yousef priyanka yasmin josue nayeli remedios gildardo citlali wilberth
  ligia addy gaspar renata mauricio ulises dulce anselmo mirta lautaro samir rana abdelhak zhor hamza khadija driss
  soufiane mbarek fadma younes latifa ayoub brahim noor yara cemal dilan`.split(/\s+/),
)
const fair = new Set(
  `ingrid siobhan wiebke friederike lennart marlies jonte antje mareike birgit morag callum fergus ilse rory shona
  imogen gunilla hank ewan detlef enno kit rosalind josie gwilym olena dorota`.split(/\s+/),
)

const random = (text) => {
  let state = [...text].reduce((hash, letter) => Math.imul(hash ^ letter.codePointAt(0), 16777619), 2166136261) >>> 0
  return (list) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) >>> 0
    return list[((state ^ (state >>> 13)) >>> 0) % list.length]
  }
}
const backgrounds = ['#f3c9a5', '#bfd8d2', '#f2d388', '#c9cfe8', '#e8bfc0', '#cfe0b4', '#a9cfe0', '#ead7c3', '#d9c2e0']
const clothes = ['#2f5d62', '#a63d40', '#3d405b', '#e07a5f', '#4f772d', '#8a5a83', '#1d6996', '#d08c2b', '#5b4b49']

/** A face of 100 by 100. */
const draw = ({ name, age }) => {
  const first = name.split('.')[0]
  const one = random(name)
  const isMan = men.has(first)
  const skin = one(
    dark.has(first)
      ? ['#7b4a2d', '#8d5a38', '#65402a']
      : brown.has(first)
      ? ['#b97f55', '#c68e63', '#ad7349']
      : fair.has(first)
      ? ['#f6d3bd', '#f4cbb0', '#f8d9c6']
      : ['#eebf9a', '#e6b18a', '#f1c9a8', '#dea67d'],
  )
  const young = dark.has(first)
    ? ['#1d1513', '#2a1b16']
    : brown.has(first)
    ? ['#211815', '#33231c']
    : fair.has(first)
    ? ['#c98f3f', '#a6532b', '#d8b069', '#7a4a2a']
    : ['#2b201c', '#3f2a20', '#5a3a26', '#221a1a']
  const hair = one(age >= 62 ? ['#d9d7d3', '#c3c1be', '#ecebe8'] : age >= 52 ? ['#8d8883', '#a39d98', ...young] : young)
  const cloth = one(clothes)
  const back = one(backgrounds)
  const shade = `fill="#000" opacity=".09"`
  const curly = [[29, 36], [33, 27], [41, 21], [50, 19], [59, 21], [67, 27], [71, 36]]
    .map(([x, y]) => `<circle cx="${x}" cy="${y}" r="8.5"/>`).join('')
  // Behind the head, and over the forehead.
  const styles = {
    long: [
      '<path d="M27 44c0-18 10-27 23-27s23 9 23 27v30c-4 6-42 6-46 0z"/>',
      '<path d="M30 46c1-15 9-22 22-22 11 0 18 8 18 22-6-3-11-7-14-12-5 7-15 11-26 12z"/>',
    ],
    bob: [
      '<path d="M26 45c0-18 10-28 24-28s24 10 24 28v15c0 4-9 5-12 4H38c-3 1-12 0-12-4z"/>',
      '<path d="M30 45c0-13 8-21 20-21s20 8 20 21c-2-6-6-9-9-9H39c-4 0-7 4-9 9z"/>',
    ],
    bun: [
      '<circle cx="50" cy="15" r="9"/><path d="M28 46c0-17 9-26 22-26s22 9 22 26z"/>',
      '<path d="M30 45c0-14 8-21 20-21s20 7 20 21c-4-5-9-11-20-11s-16 6-20 11z"/>',
    ],
    curls: [
      `${curly}<circle cx="27" cy="46" r="8"/><circle cx="73" cy="46" r="8"/>
      <circle cx="28" cy="56" r="7"/><circle cx="72" cy="56" r="7"/>`,
      `<path d="M31 40c2-10 9-15 19-15s17 5 19 15c-8-6-30-6-38 0z"/>`,
    ],
    ponytail: [
      '<path d="M66 24c14 2 17 18 12 36-3 6-8 4-8-1 2-12 1-22-6-28z"/>',
      '<path d="M29 46c-1-17 9-26 21-26s22 9 21 26c-3-8-8-13-15-14-9 6-19 6-27 14z"/>',
    ],
    short: ['', '<path d="M29 45c-2-17 8-27 21-27s23 10 21 27c-2-4-3-8-5-11-9 1-21 0-27-4-5 4-8 9-10 15z"/>'],
    parted: ['', '<path d="M29 46c-2-18 8-28 22-28 12 0 22 9 20 28-2-5-4-9-7-12-10 0-17-3-21-8-3 6-10 11-14 20z"/>'],
    cropped: ['', '<path d="M30 42c0-15 8-22 20-22s20 7 20 22c-2-4-3-7-5-9-10-3-20-3-30 0-2 2-3 5-5 9z"/>'],
    afro: [`${curly}<circle cx="50" cy="29" r="15"/>`, '<path d="M31 40c2-9 9-13 19-13s17 4 19 13c-8-5-30-5-38 0z"/>'],
    bald: ['<path d="M28 50c-1-4 0-8 1-10h42c1 2 2 6 1 10z"/>', ''],
  }
  const choices = isMan
    ? dark.has(first)
      ? ['cropped', 'cropped', 'afro']
      : ['short', 'parted', 'cropped', 'short', ...(age > 45 ? ['bald'] : ['curls'])]
    : dark.has(first)
    ? ['afro', 'bun', 'curls']
    : age >= 60
    ? ['bob', 'bun', 'curls']
    : ['long', 'bob', 'bun', 'curls', 'ponytail', 'long']
  const [behind, front] = styles[one(choices)]
  const beard = isMan && age > 24 && one([true, false, false])
  const glasses = one(age > 50 ? [true, false] : [true, false, false, false])
  const line = `fill="none" stroke="#3a2823" stroke-width="2" stroke-linecap="round"`
  const eyes = one(['open', 'open', 'smiling']) === 'open'
    ? '<circle cx="42" cy="49" r="2.3" fill="#2a1d1a"/><circle cx="58" cy="49" r="2.3" fill="#2a1d1a"/>'
    : `<path d="M38.500 50q3.500-4 7 0M54.500 50q3.500-4 7 0" ${line}/>`
  const mouth = one([
    '<path d="M42 61q8 9 16 0z" fill="#fff" stroke="#7c3a33" stroke-width="1.200" stroke-linejoin="round"/>',
    `<path d="M43 62q7 6 14 0" ${line}/>`,
    `<path d="M44 62.500q7 4 13-1.500" ${line}/>`,
  ])
  const collar = one([
    `<path d="M42 78l8 9 8-9 5 3-13 14-13-14z" fill="#fff" opacity=".85"/>`,
    `<path d="M39 78q11 12 22 0" fill="none" stroke="#fff" stroke-width="3" opacity=".55"/>`,
    `<path d="M14 93h72M10 99h80" stroke="#fff" stroke-width="2.500" opacity=".45"/>`,
    '',
  ])
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" width="192" height="192">
    <rect width="100" height="100" fill="${back}"/><circle cx="${
    one([18, 82])
  }" cy="22" r="30" fill="#fff" opacity=".22"/>
    <g fill="${hair}">${behind}</g>
    <path d="M10 102c0-17 14-25 40-25s40 8 40 25z" fill="${cloth}"/>
    <path d="M42 66h16v13q-8 9-16 0z" fill="${skin}"/><path d="M42 70q8 6 16 0v4q-8 6-16 0z" ${shade}/>
    ${collar}
    <circle cx="29.500" cy="51" r="4.500" fill="${skin}"/><circle cx="70.500" cy="51" r="4.500" fill="${skin}"/>
    <path d="M30 44c0-13 8-20 20-20s20 7 20 20v8c0 12-10 20-20 20s-20-8-20-20z" fill="${skin}"/>
    ${beard ? `<path d="M30 51c3 6 8 6 20 5 12 1 17 1 20-5v3c0 12-9 20-20 20s-20-8-20-20z" fill="${hair}"/>` : ''}
    <circle cx="38" cy="57" r="4" fill="#e2604f" opacity=".22"/>
    <circle cx="62" cy="57" r="4" fill="#e2604f" opacity=".22"/>
    ${eyes}<path d="M38 43.500q4-2.500 7-.5M55 43q4-2 7 .5" ${line} opacity=".75"/>
    <path d="M50 50q3 5-1 6" ${line} opacity=".35"/>${mouth}
    <g fill="${hair}" stroke="${hair}" stroke-width="1.5" stroke-linejoin="round">${front}</g>
    ${
    glasses
      ? `<g fill="#fff" fill-opacity=".1" stroke="#3a3330" stroke-width="1.6">
         <circle cx="41.500" cy="49.500" r="6.500"/>
         <circle cx="58.500" cy="49.500" r="6.500"/><path d="M48 49q2-2 4 0" fill="none"/></g>`
      : ''
  }</svg>`
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium' })
const page = await browser.newPage({ viewport: { width: 1360, height: 900 } })
mkdirSync(folder, { recursive: true })
let total = 0
for (const person of people) {
  const base64 = await page.evaluate(async (svg) => {
    const image = new Image()
    image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`
    await image.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: 192, height: 192 })
    canvas.getContext('2d').drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', 0.8).split(',')[1]
  }, draw(person))
  const bytes = Buffer.from(base64, 'base64')
  total += bytes.length
  writeFileSync(new URL(`${person.name}.webp`, folder), bytes)
}
console.log(`${people.length} portraits, ${Math.round(total / 1000)} kB`)
if (process.argv[2]) {
  await page.setContent(
    people.slice(0, 66).map((person) =>
      `<figure style="float:left;margin:4px;font:11px sans-serif">${
        draw(person)
          .replace(/width="192" height="192"/, 'width="110" height="110"')
      }<br>${person.name}</figure>`
    ).join(''),
  )
  await page.screenshot({ path: process.argv[2] })
}
await browser.close()
