-- Whoever erases themselves takes their avatars along: which these are.
create function api.list_avatars()
returns json
language sql stable security invoker set search_path = ''
as $$
  select coalesce(json_agg(name), '[]')
  from (
    select name
    from storage.objects
    where bucket_id = 'avatars'
      -- As the policy says, in words that the index of names understands: after the slash comes the zero.
      and name collate "C" >= (select auth.uid())::text || '/'
      and name collate "C" < (select auth.uid())::text || '0'
    limit 1000
  ) as mine
$$;
comment on function api.list_avatars() is
  'The caller''s avatars, as many as Storage removes at a time: whoever erases themselves takes them along, which Storage lets nobody do in
SQL.';
grant execute on function api.list_avatars() to edge_functions;
