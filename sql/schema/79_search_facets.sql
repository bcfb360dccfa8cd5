-- Facet counts, and nearness to one profile, if a search asks for them.

create function private.set_field(object json, field text, content json)
returns json
language plpgsql immutable parallel safe set search_path = ''
as $$
begin
  return (
    select json_object_agg(key, value order by place)
    from (
      select key, case when key = field then content else value end as value, ordinality as place
      from json_each(object) with ordinality as listed (key, value, ordinality)
      union all
      select field, content, null
      where object -> field is null
    ) as fields
  );
end
$$;
comment on function private.set_field(json, text, json) is
  'Replaces a field of an object, or adds it at the end. Keeps the order, which jsonb does not.';

create function private.facet_distribution(facets text[], ids bigint[])
returns json
language plpgsql stable security invoker
set search_path = ''
set plan_cache_mode = 'force_generic_plan'
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
      select facet, value, count(*) as holders, private.facet(facet, value) as folded
      from listed
      group by facet, value
    ),
    counted as (
      select facet, folded, count(distinct profile_id) as holders
      from listed
      join spellings using (facet, value)
      group by facet, folded
    ),
    named as (
      select distinct on (facet, folded) facet, folded, value
      from spellings
      order by facet, folded, spellings.holders desc, value collate "C"
    )
    select coalesce(json_object_agg(facet, coalesce(distribution, '{}')), '{}')
    from unnest(facets) as facet
    left join (
      select facet, json_object_agg(value, holders order by holders desc, value collate "C") as distribution
      from counted
      join named using (facet, folded)
      group by facet
    ) as distributions using (facet)
  );
end
$$;
comment on function private.facet_distribution(text[], bigint[]) is
  'How many of these profiles have each value: {facet: {value: count}}, the most frequent first. Values that differ only
in case, accents or spaces at the ends count as one, which is printed as most of the profiles print it.';

create function private.vector_near(query_vector extensions.halfvec, liked extensions.halfvec)
returns extensions.halfvec
language plpgsql immutable parallel safe
set search_path = 'extensions'
as $$
begin
  return case
    when liked is null then query_vector
    when query_vector is null then liked
    else l2_normalize(query_vector) + l2_normalize(liked)
  end;
end
$$;
comment on function private.vector_near(extensions.halfvec, extensions.halfvec) is
  'Halfway between what a query means and a profile; one of them if the other is null.';

create function private.like_profile(profile bigint, caller bigint)
returns private.search_entries
language plpgsql stable security invoker set search_path = ''
as $$
declare
  liked private.search_entries;
begin
  select * into liked
  from private.search_entries
  where profile_id = profile and user_id <> all (coalesce(private.blocked_users_of(caller), '{}'));
  if liked.profile_id is null then
    raise sqlstate 'PT404' using message = 'No such profile';
  end if;
  return liked;
end
$$;
comment on function private.like_profile(bigint, bigint) is
  'The profile that a search compares others to. 404 unless it is searchable, its owner active, and no block between
them and the caller.';
