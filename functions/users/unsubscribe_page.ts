const question = `<h1>Stop these e-mails?</h1>
<p>You will get no more e-mails about unread messages. Everything else stays as it is.</p>
<form method="post"><button>Stop the e-mails</button></form>`
const done = `<h1>You will get no more e-mails</h1>
<p>You can turn them on again in your settings.</p>`

/** Asks before it unsubscribes: mail programs and their filters follow links before anybody has read the mail. */
export const unsubscribePage = ({ email, error }: { email?: boolean; error?: string }): string =>
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>E-mails</title>
${error ? `<h1>This did not work</h1>\n<p>${error}.</p>` : email ? question : done}
</html>
`

/** No scripts, no frames, and a form that goes here. */
export const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'Referrer-Policy': 'no-referrer',
}
