import { describe, expect, test } from 'vitest'
import { everybody, formatRoute, parseRoute, type Route } from '../../demo/router.ts'

const jazz = { q: 'jazz & tea', interests: ['Jazz', 'Tea'], cities: ['São Paulo'], countries: ['Brazil'], like: 12 }

describe('addresses of the demo', () => {
  const routes: [Route, string][] = [
    [{ page: 'inbox' }, '/demo'],
    [{ page: 'me' }, '/demo/me'],
    [{ page: 'conversation', id: 7 }, '/demo/c/7'],
    [{ page: 'profile', id: 12 }, '/demo/people/12'],
    [{ page: 'people', search: everybody }, '/demo/people'],
    [{ page: 'people', search: { ...everybody, q: 'jazz' } }, '/demo/people?q=jazz'],
    [
      { page: 'people', search: jazz },
      '/demo/people?q=jazz+%26+tea&like=12&interest=Jazz&interest=Tea&city=S%C3%A3o+Paulo&country=Brazil',
    ],
  ]
  test.each(routes)('%j is %s, and back', (route, address) => {
    expect(formatRoute(route)).toBe(address)
    expect(parseRoute(address)).toEqual(route)
  })

  test.each(['/demo/c/seven', '/demo/c/0', '/demo/c/-1', '/demo/c/7/8', '/demo/c/', '/demo/you', '/demo/people/1e3'])(
    '%s is unknown',
    (address) => expect(parseRoute(address)).toEqual({ page: 'unknown' }),
  )

  test('the host and the fragment do not matter, and a bad id of whom to be like is none', () => {
    expect(parseRoute('http://127.0.0.1:54321/demo/c/7#there')).toEqual({ page: 'conversation', id: 7 })
    expect(parseRoute('/demo/people?like=x')).toEqual({ page: 'people', search: everybody })
  })
})
