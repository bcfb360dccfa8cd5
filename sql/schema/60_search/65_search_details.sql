-- Counts of facets, for a search that asks for them.

create function private.facet_distribution(facets text[], ids bigint[])
returns json
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    with spellings as materialized (
      -- Folding takes longer than counting, so each spelling is folded once.
      select facet, value, private.facet(facet, value) as folded, count(*) as holders
      from private.search_entries as entry
      cross join lateral (
        select 'interests' as facet, unnest(entry.interests) as value
        union all
        values ('city', entry.city), ('country', entry.country)
      ) as printed
      where profile_id = any (ids) and facet = any (facets) and trim(value) <> ''
      group by facet, value
    ),
    counted as (
      select facet, (array_agg(value order by holders desc, value collate "C"))[1] as value, sum(holders) as holders
      from spellings
      group by facet, folded
    )
    select coalesce(json_object_agg(facet, coalesce(distribution, '{}')), '{}')
    from unnest(facets) as facet
    left join (
      select facet, json_object_agg(value, holders order by holders desc, value collate "C") as distribution
      from counted
      group by facet
    ) as distributions using (facet)
  );
end
$$;
comment on function private.facet_distribution(text[], bigint[]) is
  'How many of these profiles have each value: {facet: {value: count}}, the most frequent first. Values that differ only
in case, accents or spaces at the ends are one, printed as most of the profiles print it.';
