import { secureHeaders } from 'hono/secure-headers'

type Options = NonNullable<Parameters<typeof secureHeaders>[0]>
export type Policy = NonNullable<Options['contentSecurityPolicy']>

export const self = ["'self'"]
const none = ["'none'"]

/** The headers of pages that may do nothing but `policy`. What an answer already says stays. */
export const pageHeaders = (policy: Policy, options: Options = {}) =>
  secureHeaders({
    overwrite: false,
    strictTransportSecurity: false,
    xFrameOptions: 'DENY',
    contentSecurityPolicy: { defaultSrc: none, baseUri: none, formAction: none, frameAncestors: none, ...policy },
    ...options,
  })

/** With no-referrer browsers hide the origin of a form, which the gateway compares. */
export const formReferrer = { referrerPolicy: 'same-origin' }
/** Those of the form for the key. */
export const formHeaders = pageHeaders({ styleSrc: self, imgSrc: self, formAction: self }, formReferrer)
