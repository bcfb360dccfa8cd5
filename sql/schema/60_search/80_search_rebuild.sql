-- For operators: the index made anew, and how long the queue of embeddings is.

create function private.rebuild_search_index()
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  perform private.refresh_search_entry(id) from public.profiles order by id;
  perform private.refresh_search_context(id) from public.users;
  perform private.count_words();
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is null
  union all
  select 'context', user_id from private.search_contexts where model is null
  on conflict (kind, id) do nothing;
end
$$;
comment on function private.rebuild_search_index() is
  'Rebuilds the index from the profiles, after a migration of the search or a restore in parts. A profile that it has
written cannot change until it has finished, which takes up to 5 ms per profile.';

create function private.describe_search()
returns json
language sql stable security definer set search_path = ''
as $$
  select json_build_object(
    'waiting', count(*) filter (where attempts < 8),
    'dead', count(*) filter (where attempts >= 8),
    'oldest', coalesce(extract(epoch from now() - min(queued_at) filter (where attempts < 8)), 0)
  )
  from private.embedding_queue
$$;
comment on function private.describe_search() is 'The state of the queue. Definer, as private.adopt_model.';
