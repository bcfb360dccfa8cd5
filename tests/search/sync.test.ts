import { expect, test } from 'vitest'
import { asAdmin, type Person, signUp, uniqueEmail } from '../tools/people.ts'
import { seededRandom } from '../tools/random.ts'
import { searchIn, uniqueCity } from '../tools/search.ts'

const steps = 150
const seed = Number(process.env.SEED_OF_STEPS ?? 20_261_121)

interface Hit {
  id: number
  user_id: number
  name: string
  city: string
  biography: string | null
  interests: string[]
}

interface Subject {
  person: Person
  name: string
  city: string
  biography: string | null
  searchable: boolean
  active: boolean
  likes: Set<number>
}

test(`after each of ${steps} changes a search finds the searchable, active profiles only (seed ${seed})`, async () => {
  const random = seededRandom(seed)
  const pick = <Value>(list: Value[]): Value => list[Math.floor(random() * list.length)]!
  const chance = (share: number): boolean => random() < share
  const here = uniqueCity('Steptown')
  const elsewhere = `${here} elsewhere`
  const inBoth = searchIn(`${here},${elsewhere}`)
  const words = ['zorbing', 'quokkas', 'plonthir', 'gribwax']

  const interests = new Map<number, string>()
  const addInterest = async () => {
    const name = `Pastime ${uniqueEmail()}`
    const { body } = await asAdmin('POST', 'interests', { name })
    interests.set(body[0].id, name)
  }
  for (let index = 0; index < 5; index++) await addInterest()

  const people: Subject[] = []
  for (let index = 0; index < 12; index++) {
    const searchable = chance(0.5)
    const name = `Walker ${index}`
    const person = await signUp(name, { city: here, is_searchable: searchable })
    people.push({ person, name, city: here, biography: null, searchable, active: true, likes: new Set() })
  }

  /** Changes of a user or an interest. Each updates the expected state, too. */
  const actions: Record<string, (subject: Subject) => Promise<unknown>> = {
    toggle: (subject) => {
      const is_searchable = subject.searchable = chance(0.8) ? !subject.searchable : subject.searchable
      return subject.active
        ? subject.person.call('PATCH', pick(['/users/searchable', '/users/profile']), { is_searchable })
        : asAdmin('PATCH', `profiles?id=eq.${subject.person.profileId}`, { is_searchable })
    },
    edit: (subject) => {
      const name = `Walker ${uniqueEmail()}`
      const change = { name, city: pick([here, elsewhere]), biography: pick([...words, null]) }
      Object.assign(subject, change)
      const { name: _, ...texts } = change
      return subject.active
        ? subject.person.call('PATCH', '/users/profile', change)
        : asAdmin('PATCH', `users?id=eq.${subject.person.id}`, { name })
          .then(() => asAdmin('PATCH', `profiles?id=eq.${subject.person.profileId}`, texts))
    },
    activate: (subject) => {
      subject.active = !subject.active
      return asAdmin('PATCH', `users?id=eq.${subject.person.id}`, { is_active: subject.active })
    },
    like: (subject) => {
      const ids = [...interests.keys()].filter(() => chance(0.4))
      if (!subject.active) {
        subject.likes = new Set()
        return asAdmin('DELETE', `profile_interests?profile_id=eq.${subject.person.profileId}`)
      }
      subject.likes = new Set(ids)
      return chance(0.5)
        ? subject.person.call('PUT', '/users/profile/interests', { interest_ids: ids })
        : subject.person.call('PATCH', '/users/profile', { interest_ids: ids })
    },
    dropInterest: async () => {
      const id = pick([...interests.keys()])
      interests.delete(id)
      for (const { likes } of people) likes.delete(id)
      await asAdmin('DELETE', `interests?id=eq.${id}`)
      await addInterest()
    },
    renameInterest: () => {
      const id = pick([...interests.keys()])
      const name = `Pastime ${uniqueEmail()}`
      interests.set(id, name)
      return asAdmin('PATCH', `interests?id=eq.${id}`, { name })
    },
    // Deletes a user with all their data, and signs up another.
    replace: async (subject) => {
      await asAdmin('DELETE', `users?id=eq.${subject.person.id}`)
      people.splice(people.indexOf(subject), 1)
      const name = `Walker ${uniqueEmail()}`
      const person = await signUp(name, { city: here, is_searchable: true })
      people.push({ person, name, city: here, biography: null, searchable: true, active: true, likes: new Set() })
    },
  }
  const weighted = ['toggle', 'toggle', 'toggle', 'edit', 'edit', 'activate', 'activate', 'like', 'like']

  const expectedHits = (subjects: Subject[]) =>
    subjects
      .filter(({ searchable, active }) => searchable && active)
      .map(({ person, name, city, biography, likes }) => ({
        id: person.profileId,
        user_id: person.id,
        name,
        city,
        biography,
        interests: [...likes].map((id) => interests.get(id)!).toSorted(),
      }))
      .toSorted((one, other) => one.id - other.id)

  const expectHits = async (message: string, parameters: Record<string, string>, subjects: Subject[]) => {
    const { status, body } = await inBoth({ limit: 100, ...parameters })
    expect(status, message).toBe(200)
    const hits = (body.hits as Hit[])
      .map(({ id, user_id, name, city, biography, interests }) => ({
        id,
        user_id,
        name,
        city,
        biography,
        interests: interests.toSorted(),
      }))
      .toSorted((one, other) => one.id - other.id)
    expect(hits, message).toEqual(expectedHits(subjects))
    expect(body.estimatedTotalHits, message).toBe(hits.length)
  }

  for (let step = 0; step < steps; step++) {
    const subject = pick(people)
    const action = chance(0.15) ? pick(['dropInterest', 'renameInterest', 'replace']) : pick(weighted)
    const answer = await actions[action]!(subject) as { status: number } | undefined
    const message = `step ${step}: ${action} of ${subject.name}`
    if (answer) expect(answer.status, message).toBeLessThan(300)

    await expectHits(message, {}, people)
    await expectHits(message, { filterCity: here }, people.filter(({ city }) => city === here))
    const [id, name] = pick([...interests])
    await expectHits(message, { filterInterests: name }, people.filter(({ likes }) => likes.has(id)))
    // Quoted, so that neither similar words nor similar meanings match.
    const word = pick(words)
    await expectHits(message, { q: `"${word}"` }, people.filter(({ biography }) => biography === word))
  }
}, 240_000)
