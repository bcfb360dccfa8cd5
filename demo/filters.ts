import type { components } from '../clients/openapi.ts'
import { openChips } from './chips.ts'
import { button, el } from './dom.ts'
import type { Search } from './router.ts'

type Facets = NonNullable<components['schemas']['SearchResult']['facetDistribution']>

/** The filters of the search, which fold. */
export const openFilters = (onChange: (change: Partial<Search>) => void) => {
  const interests = openChips('Interests', (interests) => onChange({ interests }))
  const cities = openChips('Cities', (cities) => onChange({ cities }))
  const countries = openChips('Countries', (countries) => onChange({ countries }))
  const removeAll = () => {
    onChange({ interests: [], cities: [], countries: [] })
    summary.focus()
  }
  const clear = button('Remove the filters', removeAll, 'link', { hidden: true })
  const summary = el('summary', 'Filters')
  const node = el('details.filters', summary, interests.node, cities.node, countries.node, clear)

  return {
    node,
    show(search: Search) {
      const chosen = [...search.interests, ...search.cities, ...search.countries]
      interests.setChosen(search.interests)
      cities.setChosen(search.cities)
      countries.setChosen(search.countries)
      summary.textContent = chosen.length ? `Filters: ${chosen.join(', ')}` : 'Filters'
      clear.hidden = chosen.length === 0
    },
    setCounts({ interests: byInterest = {}, city = {}, country = {} }: Facets) {
      interests.setCounts(byInterest)
      cities.setCounts(city)
      countries.setCounts(country)
    },
  }
}
