// Swagger UI has both themes, and leaves the choice to the page.
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()

globalThis.SwaggerUIBundle({
  url: 'openapi.json',
  domNode: document.getElementById('reference'),
  deepLinking: true,
  filter: true,
  displayOperationId: true,
  displayRequestDuration: true,
  // The schemas are shown where they are used.
  defaultModelsExpandDepth: -1,
  defaultModelExpandDepth: 3,
  // Otherwise it sends the document to a validator on the Internet, unless the page is on localhost.
  validatorUrl: null,
})
