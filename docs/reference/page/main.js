// The API reference: docs/openapi.json as a page, in which every operation can be tried. Of our own, because the
// document is 28 kB compressed and this page 6 kB; Swagger UI is 523 kB, Redoc 650 kB without trying, Scalar 1,400 kB.

const el = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (value !== false) element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.filter((child) => child !== false && child !== undefined))
  return element
}

/** The little Markdown that the document has: code, bold and links in a line; paragraphs and fenced code. */
const inline = (text) =>
  text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
    if (part.startsWith('`')) return el('code', {}, part.slice(1, -1))
    if (part.startsWith('**')) return el('strong', {}, part.slice(2, -2))
    const [, label, href] = /^\[(.+)\]\((.+)\)$/.exec(part) ?? []
    return href ? el('a', { href }, label) : part
  })
const paragraphs = (text = '') =>
  text.split(/\n{2,}/).filter(Boolean).map((block) => {
    const [, code] = /^```\w*\n(.*)\n```$/s.exec(block.trim()) ?? []
    return code ? el('pre', {}, code) : el('p', {}, ...inline(block))
  })
const print = (value) => typeof value === 'string' ? value : JSON.stringify(value, null, 2)
/** Long ones scroll, so they can have the focus. */
const sample = (label, text) => el('pre', { tabindex: '0', role: 'region', 'aria-label': label }, text)

const reference = await fetch('openapi.json', { credentials: 'same-origin' }).then((answer) => answer.json())
const [server] = reference.servers
const ownServer = server.url.replace('{project}', server.variables?.project.default)

const resolve = (part) =>
  part?.$ref ? { ...part.$ref.slice(2).split('/').reduce((inside, key) => inside[key], reference), ...part } : part
const limits = { minLength: '≥', minimum: '≥', minItems: '≥', maxLength: '≤', maximum: '≤', maxItems: '≤' }
const unlimited = 2 ** 31 - 1

/** A schema in a few words: "string (uuid) or null", "array of integer". */
const typeOf = (schema) => {
  const { type, format, anyOf, oneOf, items, const: constant, enum: values, ...others } = resolve(schema)
  if (values) return values.map(print).join(' | ')
  if (constant !== undefined) return print(constant)
  if (anyOf ?? oneOf) return (anyOf ?? oneOf).map(typeOf).join(' or ')
  if (items) return `array of ${typeOf(items)}`
  const bounds = Object.entries(limits)
    .filter(([name]) => others[name] !== undefined && Math.abs(others[name]) < unlimited)
    .map(([name, sign]) => `${sign} ${others[name]}${name.endsWith('Length') ? ' characters' : ''}`)
  return [[type].flat().join(' or ') + (format ? ` (${format})` : ''), ...bounds].join(', ')
}
/** The object within a schema, where it has one. */
const objectOf = (schema) => {
  const { properties, items, anyOf, oneOf, required = [] } = resolve(schema) ?? {}
  if (properties) return { properties, required }
  return [items, ...anyOf ?? oneOf ?? []].filter(Boolean).map(objectOf).find(Boolean)
}
const field = (name, schema, { required, description = resolve(schema).description, inside = [] }) =>
  el(
    'li',
    {},
    el('code', { class: 'name' }, name),
    ' ',
    el('span', { class: 'type' }, typeOf(schema)),
    required && el('em', {}, ' required'),
    description && el('p', {}, ...inline(description)),
    ...inside,
  )
const fieldsOf = (schema, depth = 0) => {
  const object = objectOf(schema)
  if (!object || depth > 4) return []
  const fields = Object.entries(object.properties).map(([name, value]) =>
    field(name, value, { required: object.required.includes(name), inside: fieldsOf(value, depth + 1) })
  )
  return [el('ul', { class: 'fields' }, ...fields)]
}

// A repeat with the same key is answered with the first answer, and another payload is refused.
const freshKey = () =>
  '10000000-1000-4000-8000-100000000000'.replace(
    /[018]/g,
    (digit) => (Number(digit) ^ crypto.getRandomValues(new Uint8Array(1))[0] & 15 >> Number(digit) / 4).toString(16),
  )

const input = (label, value, attributes = {}) => {
  const control = el('input', { autocomplete: 'off', spellcheck: 'false', ...attributes })
  control.value = value ?? ''
  return { control, node: el('label', {}, label, control) }
}
const address = input('Address of the functions', ownServer)
const token = input('Access token', '')
const secretKey = input('Secret key', '', { type: 'password' })

const formOf = (method, path, { summary, parameters = [], requestBody, security = [] }) => {
  const fields = parameters.map((parameter) => ({
    ...parameter,
    isKey: parameter.name === 'idempotency-key',
    ...input(`${parameter.name} (${parameter.in})`, parameter.example, { required: parameter.in === 'path' }),
  }))
  const refresh = () => fields.filter(({ isKey }) => isKey).forEach(({ control }) => control.value = freshKey())
  const media = requestBody?.content['application/json']
  const body = media && el('textarea', { rows: '6', spellcheck: 'false' })
  if (body) body.value = print(media.example ?? {})
  const answer = el('div', { class: 'answer', role: 'status' })
  const schemes = security.flatMap(Object.keys)
  const valuesOf = (place) => fields.filter((one) => one.in === place && one.control.value !== '')

  const send = async () => {
    const filled = valuesOf('path').reduce(
      (url, { name, control }) => url.replace(`{${name}}`, encodeURIComponent(control.value)),
      address.control.value + path,
    )
    const query = new URLSearchParams(valuesOf('query').map(({ name, control }) => [name, control.value]))
    const headers = {
      ...Object.fromEntries(valuesOf('header').map(({ name, control }) => [name, control.value])),
      ...(body && { 'Content-Type': 'application/json' }),
      ...(schemes.includes('bearer') && token.control.value && { Authorization: `Bearer ${token.control.value}` }),
      ...(schemes.includes('secretKey') && secretKey.control.value && { apikey: secretKey.control.value }),
    }
    const start = performance.now()
    const response = await fetch(query.size ? `${filled}?${query}` : filled, { method, headers, body: body?.value })
    const text = await response.text()
    const took = Math.round(performance.now() - start)
    const isJson = response.headers.get('Content-Type')?.includes('json') && text
    return [`${response.status} ${response.statusText} in ${took} ms`, isJson ? print(JSON.parse(text)) : text]
  }
  const onSubmit = async (event) => {
    event.preventDefault()
    answer.replaceChildren('Sending…')
    const [status, text] = await send().catch((error) => ['No answer', error.message])
    answer.replaceChildren(el('h4', {}, status), ...text ? [sample(`Answer to ${summary}`, text)] : [])
    refresh()
  }
  refresh()
  return el(
    'details',
    { class: 'try' },
    el('summary', {}, 'Try it'),
    el(
      'form',
      { submit: onSubmit },
      ...fields.map(({ node }) => node),
      ...body ? [el('label', {}, 'Body', body)] : [],
      el('button', {}, 'Send'),
      answer,
    ),
  )
}

const responseOf = ([status, response]) => {
  const { description, headers = {}, content = {} } = resolve(response)
  const codes = resolve(headers['X-Error-Code'])?.schema.enum ?? []
  const others = Object.entries(headers).filter(([name]) => !['X-Request-Id', 'X-Error-Code'].includes(name))
  const [media] = Object.values(content)
  return el(
    'details',
    { class: 'response' },
    el('summary', {}, el('code', {}, status), ` ${description}`),
    codes.length > 0 && el('p', {}, 'X-Error-Code: ', ...codes.flatMap((code) => [el('code', {}, code), ' '])),
    ...others.length
      ? [el('ul', { class: 'fields' }, ...others.map(([name, header]) => field(name, resolve(header).schema, header)))]
      : [],
    ...media ? [el('p', { class: 'type' }, typeOf(media.schema)), ...fieldsOf(media.schema)] : [],
  )
}
const needs = { bearer: 'an access token', secretKey: 'the secret key' }
const needsOf = (security = []) =>
  security.map((scheme) => Object.keys(scheme).map((name) => needs[name]).join() || 'nothing').join(' or ')

const operationOf = (method, path, operation) => {
  const { operationId, summary, description, security, parameters = [], requestBody, responses } = operation
  const [[status, success]] = Object.entries(responses)
  const [media] = Object.values(resolve(success).content ?? {})
  const example = media?.example
  return el(
    'section',
    { class: 'operation', id: operationId, 'aria-labelledby': `${operationId}-title` },
    el(
      'div',
      { class: 'text' },
      el('h3', { id: `${operationId}-title` }, el('a', { href: `#${operationId}` }, summary)),
      el('p', { class: 'path' }, el('b', { class: method }, method.toUpperCase()), ' ', el('code', {}, path)),
      ...paragraphs(description),
      security?.length > 0 && el('p', { class: 'type' }, `Takes ${needsOf(security)}.`),
      ...parameters.length
        ? [
          el('h4', {}, 'Parameters'),
          el(
            'ul',
            { class: 'fields' },
            ...parameters.map((one) => field(one.name, one.schema, { ...one, description: one.description ?? '' })),
          ),
        ]
        : [],
      ...requestBody ? [el('h4', {}, 'Body'), ...fieldsOf(requestBody.content['application/json'].schema)] : [],
      el('h4', {}, 'Answers'),
      ...Object.entries(responses).map(responseOf),
    ),
    el(
      'div',
      { class: 'samples', role: 'group', 'aria-label': `Samples of ${summary}` },
      ...operation['x-codeSamples'].flatMap(({ label, source }) => [
        el('h4', {}, label),
        sample(`${label}: ${summary}`, source),
      ]),
      ...example === undefined
        ? []
        : [el('h4', {}, `Answer ${status}`), sample(`Example of an answer: ${summary}`, print(example))],
      formOf(method.toUpperCase(), path, operation),
    ),
  )
}

const operations = Object.entries(reference.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method, path, operation }))
)
const listed = []
const parts = reference.tags.map(({ name, description }) => {
  const own = operations.filter(({ operation }) => operation.tags[0] === name)
  const entries = own.map(({ method, path, operation: { operationId, summary } }) => {
    const node = el('li', {}, el('a', { href: `#${operationId}` }, summary))
    const words = `${summary} ${operationId} ${method} ${path}`.toLowerCase()
    listed.push({ node, words })
    return node
  })
  return {
    list: el('li', {}, el('a', { class: 'tag', href: `#${name}` }, name), el('ul', {}, ...entries)),
    section: [
      el('h2', { id: name }, name),
      el('p', {}, description),
      ...own.map(({ method, path, operation }) => operationOf(method, path, operation)),
    ],
  }
})

const count = el('p', { class: 'type', role: 'status' })
const search = el('input', {
  type: 'search',
  input: () => {
    const words = search.value.toLowerCase().split(/\s+/)
    for (const one of listed) one.node.hidden = !words.every((word) => one.words.includes(word))
    for (const { list } of parts) list.hidden = !list.querySelector('li:not([hidden])')
    const found = listed.filter(({ node }) => !node.hidden).length
    count.textContent = search.value.trim() ? `${found} of ${listed.length} operations` : ''
    folded.open ||= search.value !== ''
  },
  keydown: ({ key }) => key === 'Enter' && listed.find(({ node }) => !node.hidden)?.node.querySelector('a').click(),
})
const folded = el('details', {}, el('summary', {}, 'Operations'), el('ul', {}, ...parts.map(({ list }) => list)))
folded.addEventListener('click', ({ target }) => {
  if (target.closest('a') && !wide.matches) folded.open = false
})
const wide = matchMedia('(min-width: 60rem)')
const unfold = () => folded.open = wide.matches
wide.addEventListener('change', unfold)
unfold()

/** Lets the reader try everything as one of the demo people, the first to begin with, where the stack has some. */
const offerPeople = async () => {
  // The published page has no stack of its own to try.
  if (URL.parse(ownServer)?.origin !== location.origin) return
  const { logIns } = await fetch('/demo/config.json').then((answer) => answer.ok ? answer.json() : { logIns: [] })
  if (logIns.length === 0) return
  const choose = async () => {
    const { email, password } = logIns[select.selectedIndex] ?? {}
    token.control.value = ''
    if (!email) return
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify({ email, password })
    const answer = await fetch(`${ownServer}/auth/login`, { method: 'POST', headers, body })
    if (answer.ok) token.control.value = (await answer.json()).access_token
  }
  const select = el(
    'select',
    { change: choose },
    ...[...logIns.map(({ who }) => who), 'nobody'].map((who) => el('option', {}, who)),
  )
  keys.before(el('label', { class: 'people' }, 'Try it as ', select))
  await choose()
}
const keys = el(
  'details',
  { class: 'keys' },
  el('summary', {}, 'Address and keys'),
  ...[address, token, secretKey].map(({ node }) => node),
)
document.getElementById('contents').append(el('label', {}, 'Search', search), count, folded, keys)
document.getElementById('reference').append(
  ...paragraphs(reference.info.description),
  el('p', {}, 'The document itself: ', el('a', { href: 'openapi.json' }, 'openapi.json')),
  ...parts.flatMap(({ section }) => section),
)
const goToTarget = () => document.getElementById(decodeURIComponent(location.hash.slice(1)).split('/').at(-1))
goToTarget()?.scrollIntoView()
await offerPeople()
