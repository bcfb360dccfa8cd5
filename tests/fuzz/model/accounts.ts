import { accountError, asAdmin, type Command, command, expectStatus, takesPart } from './model.ts'
import { move } from './reservations.ts'

export const setSearchable = (caller: number, searchable: boolean, byProfile: boolean): Command =>
  command(`${caller} becomes ${searchable ? '' : 'not '}searchable`, async (model, { users }) => {
    const path = byProfile ? '/users/profile' : '/users/searchable'
    const answer = await users[caller]!.call('PATCH', path, { is_searchable: searchable })
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (searchable && model.users[caller]!.hidden) return expectStatus(answer, 403)
    expectStatus(answer, 200)
    model.users[caller]!.searchable = searchable
  })

export const activate = (user: number, active: boolean): Command =>
  command(`an admin ${active ? '' : 'de'}activates ${user}`, async (model, real) => {
    // A constraint forbids activating an erased user.
    if (model.users[user]!.erased) return
    expectStatus(await asAdmin(real, 'PATCH', `users?id=eq.${real.users[user]!.id}`, { is_active: active }), 200)
    model.users[user]!.active = active
  })

export const erase = (caller: number): Command =>
  command(`${caller} deletes their account`, async (model, { users }) => {
    const answer = await users[caller]!.call('DELETE', '/users/me')
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    expectStatus(answer, 204)
    Object.assign(model.users[caller]!, { searchable: false, active: false, erased: true, hidden: false })
    for (const one of model.users) one.blocked.delete(caller)
    model.users[caller]!.blocked.clear()
    for (const talk of model.conversations.filter((one) => takesPart(one, caller))) {
      talk.states.delete(caller)
      for (const reservation of talk.reservations) {
        if (['pending', 'accepted'].includes(reservation.status)) move(reservation, 'cancelled', caller)
      }
    }
  })

export const block = (caller: number, other: number, on: boolean): Command =>
  command(`${caller} ${on ? '' : 'un'}blocks ${other}`, async (model, { users }) => {
    const answer = await users[caller]!.call(on ? 'PUT' : 'DELETE', `/users/me/blocks/${users[other]!.id}`)
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (caller === other) return expectStatus(answer, 400)
    const { blocked } = model.users[caller]!
    if (!model.users[other]!.active && (on || !blocked.has(other))) return expectStatus(answer, 404)
    expectStatus(answer, 204)
    if (on) blocked.add(other)
    else blocked.delete(other)
  })
