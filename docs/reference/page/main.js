// Swagger UI has both themes, and leaves the choice to the page.
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()

/** Shows the samples of an operation above its answers. */
const samples = () => ({
  wrapComponents: {
    responses: (Responses, { React: { createElement: el }, specSelectors }) => (props) => {
      const listed = specSelectors.specJson().getIn(['paths', props.path, props.method, 'x-codeSamples'])
      const shown = (listed ? listed.toJS() : []).map(({ label, source }) => [
        el('h5', { key: label }, label),
        el('pre', { key: source, className: 'sample', tabIndex: 0 }, source),
      ])
      return el(
        'div',
        null,
        el(
          'section',
          { className: 'opblock-section samples', 'aria-label': 'Samples' },
          el('h4', null, 'Sample'),
          shown,
        ),
        el(Responses, props),
      )
    },
  },
})

/** Lets the reader try everything as one of the demo people, the first to begin with, where the stack has some. */
const offerPeople = async (ui) => {
  const [server] = ui.specSelectors.specJson().get('servers').toJS()
  const functions = URL.parse(server.url)
  // The published page has no stack of its own to try.
  if (functions?.origin !== location.origin) return
  const config = await fetch('/demo/config.json').then((answer) => answer.ok ? answer.json() : { logIns: [] })
  if (config.logIns.length === 0) return
  const choose = async (person) => {
    if (!person) return ui.authActions.logout(['bearer'])
    const body = JSON.stringify({ email: person.email, password: person.password })
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch(`${functions.href}/auth/login`, { method: 'POST', headers, body })
    if (answer.ok) ui.preauthorizeApiKey('bearer', (await answer.json()).access_token)
  }
  const select = document.createElement('select')
  select.append(...config.logIns.map(({ who }) => new Option(who)), new Option('nobody'))
  select.addEventListener('change', () => choose(config.logIns[select.selectedIndex]))
  const label = document.createElement('label')
  label.className = 'people'
  label.append('Try it as ', select)
  document.getElementById('reference').before(label)
  await choose(config.logIns[0])
}

const ui = globalThis.SwaggerUIBundle({
  url: 'openapi.json',
  domNode: document.getElementById('reference'),
  plugins: [samples],
  onComplete: () => offerPeople(ui),
  deepLinking: true,
  filter: true,
  displayOperationId: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // The schemas are shown where they are used.
  defaultModelsExpandDepth: -1,
  defaultModelExpandDepth: 3,
  // Otherwise it sends the document to a validator on the Internet, unless the page is on localhost.
  validatorUrl: null,
})
