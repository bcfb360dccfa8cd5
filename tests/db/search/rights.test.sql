-- No role reads or writes the tables of the search: everything goes through api.search_profiles and
-- api.complete_search.
select plan(8);
select tests.make_person('ana');
update public.profiles
set is_searchable = true, city = 'Qwxburg', biography = 'Zorbing quokkas';
update public.users
set bio = 'Snorkwump'
where id = tests.id_of('ana');

create temp view search_tables as
select pg_class.oid, relname, relowner, relrowsecurity
from pg_class
where relnamespace = 'private'::regnamespace
  and relkind = 'r'
  and (relname like 'search\_%' or relname = 'embedding_queue');
create temp view other_roles as
select search_tables.oid as table_oid, relname, pg_roles.oid as role_oid, rolname
from search_tables
cross join pg_roles
where not rolsuper
  and pg_roles.oid <> relowner
  and not pg_has_role(pg_roles.oid, relowner, 'usage')
  and rolname not like 'pg\_%';

select set_eq(
  'select relname::text from search_tables',
  array[
    'embedding_queue', 'search_audit', 'search_completions', 'search_contexts', 'search_entries', 'search_lexicon',
    'search_lexicon_queue', 'search_locks', 'search_models', 'search_places', 'search_removed_words', 'search_words'
  ],
  'these are the tables of the search'
);
select is_empty(
  'select relname from search_tables where not relrowsecurity', 'every table has row level security'
);
select is_empty(
  $$
    select relname, rolname, privilege
    from other_roles
    cross join unnest(array['select', 'insert', 'update', 'references']) as privilege
    where has_any_column_privilege(role_oid, table_oid, privilege)
  $$,
  'only the owner may read or write a column'
);
select is_empty(
  $$
    select relname, rolname, privilege
    from other_roles
    cross join unnest(array['delete', 'truncate', 'trigger']) as privilege
    where has_table_privilege(role_oid, table_oid, privilege)
  $$,
  'only the owner may delete'
);

create function pg_temp.tried(wanted name, statement text)
returns text
language plpgsql
as $$
begin
  perform tests.become_role(wanted);
  execute statement;
  perform tests.become_owner();
  return 'done';
exception
  when insufficient_privilege then
    return 'denied';
end
$$;

select is_empty(
  $$
    select relname, wanted
    from search_tables
    cross join unnest(array['anon', 'authenticated', 'service_role', 'edge_functions']) as wanted
    where pg_temp.tried(wanted, format('select from private.%I', relname)) <> 'denied'
  $$,
  'reading a table is denied'
);
-- What no caller may call, and what only edge_functions may.
create temp table helpers as
select call, false as is_granted
from unnest(array[
  $$corrections_of('zorbing', true)$$,
  $$completions_of('zorb', 'zorb:*')$$,
  $$read_query('zorbing')$$,
  $$read_words('zorbing')$$,
  $$split_of('zorbing', true)$$,
  $$places_among('{zorb}')$$,
  $$other_names_of('zorb')$$,
  $$add_place('{zorb}')$$,
  $$understand(null, '{}')$$,
  $$sample_profiles(1)$$,
  $$measure_word(query => 'zorbing', is_known => false, profiles => 1, sample => null)$$,
  $$count_profiles()$$,
  $$hidden_profiles_of(null)$$,
  $$read_filter('{}', null, null)$$,
  $$find_passing(filter => null, alternatives => '{}', sample => null, profiles => 1)$$,
  $$keyword_candidates(asked => null, filter => null, max_results => 1)$$,
  $$check_deadline()$$,
  $$nearest_profiles(
    query_vector => null, query_model => null, filter => null, max_results => 1, max_distance => 1
  )$$,
  $$entry_text(1)$$,
  $$context_text(1)$$,
  $$refresh_search_entry(1)$$,
  $$refresh_search_context(1)$$,
  $$keyword_scores(ids => '{1}', asked => null, words_asked => 1)$$,
  $$audit_search_index()$$,
  $$add_to_lexicon(profile => 1, words => '', max_words => 1)$$,
  $$sweep_lexicon()$$,
  $$rebuild_search_index()$$,
  $$facet_distribution('{city}', '{1}')$$,
  $$word_places('zorbing')$$,
  $$text_matches('[]', null)$$,
  $$highlight('[]', null)$$,
  $$like_profile(1, null)$$,
  $$complete(parts => '{zorb}', hidden_ids => '{}', max_results => 5)$$,
  $$completions(kind => 'names', parts => '{zorb}', hidden_ids => '{}', max_results => 5)$$,
  $$find_profiles(
    request => '{}', asked => null, filter => null, query_vector => null, context_vector => null, semantic_ratio => 0.5
  )$$
]) as call
union all
select call, true
from unnest(array[
  $$claim_embeddings('x', 1)$$,
  $$drain_lexicon_queue(1)$$,
  $$save_embeddings('x', '[]')$$,
  $$fail_embeddings('[]', 'x', true)$$,
  $$adopt_model('x')$$,
  $$count_pending_embeddings()$$,
  $$report_search(60)$$,
  $$describe_search()$$
]) as call;
select is_empty(
  $$
    select call, wanted
    from helpers
    cross join unnest(array['anon', 'authenticated', 'service_role']) as wanted
    where pg_temp.tried(wanted, format('select private.%s', call)) <> 'denied'
  $$,
  'callers may not call a helper of the search'
);
select is_empty(
  $$
    select call
    from helpers
    where not is_granted and pg_temp.tried('edge_functions', format('select private.%s', call)) <> 'denied'
  $$,
  'edge_functions may not call the functions behind api.search_profiles'
);

select is(
  tests.ask(null, $sql$search_profiles('{"q": "zorbing", "limit": 20, "offset": 0}')$sql$) #- '{hits,0,_rankingScore}',
  jsonb_build_object(
    'hits', jsonb_build_array(jsonb_build_object(
      'id', tests.profile_of('ana'), 'user_id', tests.id_of('ana'), 'name', 'ana', 'biography', 'Zorbing quokkas',
      'city', 'Qwxburg', 'country', null, 'interests', '[]'::jsonb, 'image_url', null
    )),
    'query', 'zorbing', 'estimatedTotalHits', 1, 'limit', 20, 'offset', 0
  ),
  'an anonymous search finds ana, with her public fields and nothing else'
);
