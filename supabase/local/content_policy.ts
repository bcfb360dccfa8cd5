/** A Content-Security-Policy that allows nothing but `more`. */
export const contentPolicy = (more: Record<string, string>): string =>
  Object.entries({
    'default-src': "'none'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...more,
  }).map((directive) => directive.join(' ')).join('; ')
