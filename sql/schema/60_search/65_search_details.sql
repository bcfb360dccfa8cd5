-- What else a search says if it is asked to: counts of facets.

create function private.facet_distribution(facets text[], ids bigint[])
returns json
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
-- Otherwise each spelling is compared with each value, because the plan expects few.
set enable_nestloop = off
as $$
begin
  return (
    with listed as materialized (
      select facet, value, profile_id
      from private.search_entries as entry
      cross join lateral (
        select 'interests' as facet, unnest(entry.interests) as value
        union all
        values ('city', entry.city), ('country', entry.country)
      ) as printed
      where profile_id = any (ids) and facet = any (facets) and trim(value) <> ''
    ),
    -- Folding takes longer than counting, so each spelling is folded once.
    spellings as materialized (
      select facet, value, private.facet(facet, value) as folded from listed group by facet, value
    ),
    -- A profile with two spellings counts once.
    counted as (
      select
        facet, mode() within group (order by value collate "C") as value, count(distinct profile_id) as holders
      from listed
      join spellings using (facet, value)
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
in case, accents or spaces at the ends count as one, which is printed as most of the profiles print it.';
