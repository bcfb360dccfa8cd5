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
      select
        facet, value, holders, folded, count(*) over (partition by facet, folded) as alternatives,
        row_number() over (partition by facet, folded order by holders desc, value collate "C") as place
      from (
        select facet, value, count(*) as holders, private.facet(facet, value) as folded
        from listed
        group by facet, value
      ) as grouped
    ),
    -- A profile with two spellings counts once. To count all values so was half of the time.
    counted as (
      select facet, folded, count(distinct profile_id) as holders
      from listed
      join (select facet, value, folded from spellings where alternatives > 1) as several using (facet, value)
      group by facet, folded
    )
    select coalesce(json_object_agg(facet, coalesce(distribution, '{}')), '{}')
    from unnest(facets) as facet
    left join (
      select facet, json_object_agg(value, holders order by holders desc, value collate "C") as distribution
      from (
        select facet, value, coalesce(counted.holders, spellings.holders) as holders
        from spellings
        left join counted using (facet, folded)
        where place = 1
      ) as named
      group by facet
    ) as distributions using (facet)
  );
end
$$;
comment on function private.facet_distribution(text[], bigint[]) is
  'How many of these profiles have each value: {facet: {value: count}}, the most frequent first. Values that differ only
in case, accents or spaces at the ends count as one, which is printed as most of the profiles print it.';
