import { accountError, asAdmin, type Command, command, expectStatus, logBlock, logForBoth, takesPart } from './model.ts'
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

/** Activates one of those who are not active, if there are any. */
export const activate = (someone: number, active: boolean): Command =>
  command(`an admin ${active ? '' : 'de'}activates ${someone}`, async (model, real) => {
    const inactive = [...model.users.keys()].filter((one) => !model.users[one]!.active && !model.users[one]!.erased)
    const user = active && inactive.length > 0 ? inactive[someone % inactive.length]! : someone
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
    for (const [user, { blocked }] of model.users.entries()) {
      if (blocked.delete(caller)) logBlock(model, user, caller)
    }
    model.users[caller]!.blocked.clear()
    for (const talk of model.conversations.filter((one) => takesPart(one, caller))) {
      talk.states.delete(caller)
      logForBoth(model, 'conversation', talk, talk.id)
      for (const reservation of talk.reservations) {
        if (!['pending', 'accepted'].includes(reservation.status)) continue
        move(reservation, 'cancelled', caller)
        logForBoth(model, 'reservation', talk, reservation.id)
      }
    }
  })

/** Unblocks one of those whom the caller has blocked, if there are any. */
export const block = (caller: number, someone: number, on: boolean): Command =>
  command(`${caller} ${on ? '' : 'un'}blocks ${someone}`, async (model, { users }) => {
    const known = [...model.users[caller]!.blocked]
    const other = on || known.length === 0 ? someone : known[someone % known.length]!
    const answer = await users[caller]!.call(on ? 'PUT' : 'DELETE', `/users/me/blocks/${users[other]!.id}`)
    const error = accountError(model, caller)
    if (error) return expectStatus(answer, error)
    if (caller === other) return expectStatus(answer, 400)
    const { blocked } = model.users[caller]!
    if (!model.users[other]!.active && (on || !blocked.has(other))) return expectStatus(answer, 404)
    expectStatus(answer, 204)
    if (blocked.has(other) === on) return
    if (on) blocked.add(other)
    else blocked.delete(other)
    logBlock(model, caller, other)
  })
