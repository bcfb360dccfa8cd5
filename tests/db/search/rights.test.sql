-- The tables of the search are for nobody's hands: people, the doors and the secret key see of them what the search answers.
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

select set_eq(
  'select relname::text from search_tables',
  array['embedding_queue', 'search_audit', 'search_contexts', 'search_entries', 'search_lexicon', 'search_models', 'search_postings'],
  'these are the tables of the search'
);
select is_empty('select relname from search_tables where not relrowsecurity', 'each has row level security');
select is_empty(
  $$
    select relname, rolname, verb
    from search_tables
    cross join pg_roles
    cross join unnest(array['select', 'insert', 'update', 'references']) as verb
    where not rolsuper
      and pg_roles.oid <> relowner
      and not pg_has_role(pg_roles.oid, relowner, 'usage')
      and rolname not like 'pg\_%'
      and has_any_column_privilege(pg_roles.oid, search_tables.oid, verb)
  $$,
  'no role but the owner reads or writes a column of any'
);
select is_empty(
  $$
    select relname, rolname, verb
    from search_tables
    cross join pg_roles
    cross join unnest(array['delete', 'truncate', 'trigger']) as verb
    where not rolsuper
      and pg_roles.oid <> relowner
      and not pg_has_role(pg_roles.oid, relowner, 'usage')
      and rolname not like 'pg\_%'
      and has_table_privilege(pg_roles.oid, search_tables.oid, verb)
  $$,
  'nor deletes from any'
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
  'whoever tries to read one is denied'
);
select is_empty(
  $$
    select helper, wanted
    from unnest(array[
      'expand_word(''zorbing'', true)', 'terms_of(''{}'')', 'selective_terms(''{}'')', 'keyword_matches(''{}'', null, null, 1)',
      'filter_profiles(null, null, 1)', 'resolve_phrases(''{}'', ''{}'')', 'check_deadline()',
      'nearest_profiles(null, null, null, null, 1, 1)', 'entry_text(1)', 'context_text(1)', 'refresh_search_entry(1)',
      'refresh_search_context(1)', 'claim_embeddings(''x'', 1)', 'save_embeddings(''x'', ''[]'')', 'fail_embeddings(''[]'', ''x'')',
      'adopt_model(''x'')', 'count_pending_embeddings()',
      'postings_of(''{}'', ''{1}'')', 'keyword_bounds(''{1}'', ''{}'', 1, ''{0}'')',
      'keyword_scores(''{1}'', ''{}'', 1, ''{0}'')', 'count_words(''{}'')', 'audit_search_index()', 'rebuild_search_index()', 'report_search(60)',
      'describe_search()',
      'find_profiles('''', null, null, 0.5, ''{}'', null, 20, 0, false)'
    ]) as helper
    cross join unnest(array['anon', 'authenticated', 'service_role']) as wanted
    where pg_temp.tried(wanted, format('select private.%s', helper)) <> 'denied'
  $$,
  'nor does anybody call a helper of the search'
);
select is_empty(
  $$
    select helper
    from unnest(array[
      'expand_word(''zorbing'', true)', 'terms_of(''{}'')', 'selective_terms(''{}'')', 'keyword_matches(''{}'', null, null, 1)',
      'filter_profiles(null, null, 1)', 'resolve_phrases(''{}'', ''{}'')', 'check_deadline()',
      'nearest_profiles(null, null, null, null, 1, 1)', 'entry_text(1)', 'context_text(1)', 'refresh_search_entry(1)',
      'keyword_bounds(''{1}'', ''{}'', 1, ''{0}'')', 'keyword_scores(''{1}'', ''{}'', 1, ''{0}'')',
      'find_profiles('''', null, null, 0.5, ''{}'', null, 20, 0, false)',
      'audit_search_index()', 'rebuild_search_index()'
    ]) as helper
    where pg_temp.tried('edge_functions', format('select private.%s', helper)) <> 'denied'
  $$,
  'the doors call the verb, and not what is behind it'
);

select is(
  tests.ask(null, $sql$search_profiles('{"q": "zorbing", "limit": 20, "offset": 0}')$sql$) #- '{hits,0,_rankingScore}',
  jsonb_build_object(
    'hits', jsonb_build_array(jsonb_build_object(
      'id', tests.profile_of('ana'), 'user_id', tests.id_of('ana'), 'name', 'ana', 'biography', 'Zorbing quokkas', 'city', 'Qwxburg',
      'country', null, 'interests', '[]'::jsonb, 'image_url', null
    )),
    'query', 'zorbing', 'estimatedTotalHits', 1, 'limit', 20, 'offset', 0
  ),
  'anybody finds ana through the verb, with what she shows and nothing else'
);
