-- Privacy: exporting all data of a user, and erasing a user.
create function api.export_me(place jsonb, emails text)
returns text
language plpgsql stable security definer
set search_path = ''
-- As in api.list_messages.
set enable_bitmapscan = off
as $$
declare
  -- The most messages in a piece: 2 MB of the longest possible ones. For a client that stops reading, the server holds
  -- two or three pieces in memory: with 500 messages in each, ten stalled exports of one user took 400 MB.
  remaining integer := 100;
  -- In the place of a conversation the reports, which come last: the largest integer of JSON.
  of_reports constant bigint := 9007199254740991;
  at_list constant bigint := coalesce((place ->> 'conversation')::bigint, 0);
  -- What was printed last of a list: 0 is its beginning, -1 nothing.
  after_id bigint := coalesce((place ->> 'message')::bigint, -1);
  separator text := case when place is null then '' else ',' end;
  pieces text[] := array[]::text[];
  list record;
  entry record;
  next_place jsonb;
begin
  if place is null then
    pieces := array(select left(json_build_object(
      'exported_at', private.iso(now()),
      'user', json_build_object(
        'id', users.id, 'name', users.name, 'email', users.email, 'bio', users.bio, 'location', users.location,
        'role', users.role, 'is_active', users.is_active, 'createdAt', private.iso(users.created_at)
      ),
      'profile', to_jsonb(profiles) - 'is_hidden', 'interests', private.interests_of(profiles.id),
      'blocks', api.list_blocks(), 'devices', api.list_devices(), 'notifications', api.get_notification_settings(),
      'answers', (select answers from private.answer_spans where answer_spans.user_id = users.id),
      'warnings', private.warnings_of(users.id)
    )::text, -1) || ',"conversations":['
    from public.users
    join public.profiles on profiles.user_id = users.id
    where users.id = private.my_id());
  end if;
  <<lists>>
  for list in
    select
      pair.id, voyager_id, voyager, local,
      left(json_build_object(
        'id', pair.id, 'voyager_id', voyager_id, 'local_id', local_id,
        'Voyager', private.to_contact(voyagers, pair.id, emails, cut_off)::json,
        'Local', private.to_contact(locals, pair.id, emails, cut_off)::json,
        'Reservations', array_to_json(array(select body from private.reservations_with_history(pair.id, null))),
        'createdAt', private.iso(pair.created_at),
        'state', (
          select json_build_object('archived', state.archived, 'muted_until', state.muted_until, 'pinned', state.pinned)
          from private.inbox_entries as mine
          cross join lateral private.to_state(mine) as state
          where mine.conversation_id = pair.id and mine.user_id = private.my_id()
        )
      )::text, -1) || ',"messages":[' as head
    -- The beginning of each counts as a message, except of the first if it goes on: then one more fits into a piece.
    from private.participants_of(array(
      select id from private.my_conversations() as id where id >= at_list order by id limit remaining + 1
    )) as pair
    join public.users as voyagers on voyagers.id = voyager_id
    join public.users as locals on locals.id = local_id
    cross join coalesce(private.blocked_users_of(private.my_id()), '{}') as cut_off
    union all
    select of_reports, null, null, null, '],"reports":['
    order by id
  loop
    if list.id > at_list then
      after_id := -1;
    end if;
    for entry in
      select 0 as id, case when list.id < of_reports then separator else '' end || list.head as body
      where after_id = -1
      union all
      (
        select
          messages.id,
          case
            when coalesce(edited_at, deleted_at) is null then to_json(shown)
            else (private.with_states(array[shown]))[1]
          end::text
        from public.messages
        cross join lateral (
          select
            private.to_message_view(messages, case user_id when list.voyager_id then list.voyager else list.local end)
        ) as view (shown)
        where conversation_id = list.id and messages.id > after_id
        order by messages.id
        limit remaining
      )
      union all
      (
        select id, json_build_object(
          'id', id, 'user_id', user_id, 'message_id', message_id, 'reason', reason, 'note', note,
          'share_messages', shares_messages, 'status', case when resolved_at is null then 'open' else 'resolved' end,
          'createdAt', private.iso(created_at), 'resolvedAt', private.iso(resolved_at)
        )::text
        from public.reports
        where list.id = of_reports and reporter_id = private.my_id() and id > after_id
        order by id
        limit remaining
      )
      order by id
    loop
      pieces := pieces || (case when after_id > 0 then ',' else '' end || entry.body);
      after_id := entry.id;
      remaining := remaining - 1;
      if remaining = 0 then
        next_place := jsonb_build_object('conversation', list.id, 'message', after_id);
        exit lists;
      end if;
    end loop;
    -- The end of a conversation, and of the document.
    pieces := pieces || ']}'::text;
    separator := ',';
  end loop;
  perform private.set_response_metadata(jsonb_build_object('place', next_place));
  return array_to_string(pieces, '');
end
$$;
comment on function api.export_me(jsonb, text) is
  'Everything that the caller entered, did or received, as they see it, in pieces of one JSON document, so that a long
history needs no more memory than a short one. The response metadata holds the place of the next piece while there is
one; emails as in list_conversations. Definer, because callers have no grant on states and reports.';

create function private.erase_person(person bigint)
returns boolean
language plpgsql volatile security definer set search_path = ''
as $$
declare
  -- Null for an admin.
  me constant bigint := private.my_id();
  account constant uuid := (select auth_id from public.users where id = person);
  moment timestamptz;
  profile bigint;
  address text;
  words tsvector;
  reservation public.reservations;
  erasure text;
begin
  -- Take the locks in the same order as other transactions: the Auth account first, then the profile.
  perform from auth.users where id = account for update;
  select id into profile from public.profiles where user_id = person for update;
  select email into address from public.users where id = person;
  select search_words.words into words from private.search_words where profile_id = profile;
  -- As the worker that plans: the rows of the outbox before the person.
  perform from private.outbox where user_id = person order by id for update;
  update public.users
  set
    name = 'Deleted user', email = '', bio = null, location = null, role = 'user', is_active = false, auth_id = null,
    erased_at = now()
  where id = person and erased_at is null;
  if not found then
    return false;
  end if;
  moment := private.present();
  for reservation in
    select *
    from public.reservations
    where conversation_id in (select id from public.conversations where person in (voyager_id, local_id))
      -- What has ended by now is left to the clock.
      and due_at > moment
    order by id
    for no key update
  loop
    reservation.status := 'cancelled';
    perform private.write_reservation(reservation => reservation, by_id => me, note => null, moment => moment);
  end loop;
  delete from private.blocks where person in (blocker_id, blocked_id);
  delete from private.changes where user_id = person and other_id is null;
  update private.inbox_entries
  set archived_id = null, is_pinned = false, muted_until = null
  where user_id = person and (archived_id is not null or is_pinned or muted_until is not null);
  -- Cascades to its interests and its search entry; the search context was removed when the account became inactive.
  delete from public.profiles where id = profile;
  perform private.forget_words(words);
  delete from private.embedding_queue where (kind, id) in (('profile', profile), ('context', person));
  delete from private.sign_ups where address_hash = sha256(convert_to(lower(address), 'UTF8'));
  delete from private.stored_replies where user_id = person;
  delete from private.devices where user_id = person;
  delete from private.notification_settings where user_id = person;
  delete from private.silences where user_id = person;
  delete from private.answer_spans where user_id = person;
  delete from private.outbox where user_id = person;
  perform private.notify(event => 'user.erased', conversation => null, subject => person);
  update public.reports
  set purge_at = least(purge_at, moment + interval '180 days')
  where reporter_id = person or user_id = person;
  -- Cascades to its sessions, refresh tokens and identities.
  delete from auth.users where id = account;
  foreach erasure in array array[
    'auth.flow_state where user_id = $1',
    'auth.audit_log_entries where $1::text in (payload ->> ''actor_id'', payload -> ''traits'' ->> ''user_id'')'
  ] loop
    begin
      execute 'delete from ' || erasure using account;
    exception
      -- Auth's log has no index for this and may belong to another role. The erasure must not fail because of it.
      when undefined_table or undefined_column or insufficient_privilege or query_canceled then
        raise warning 'Not erased, for %: %', sqlstate, erasure;
    end;
  end loop;
  return true;
end
$$;
comment on function private.erase_person(bigint) is
  'Erases a user and their log-in in one transaction or not at all; false if that was done before. Messages stay, sent
by "Deleted user", and so do reservations; reports keep their evidence for 180 days. Definer, for auth.users.';

create function api.erase_me()
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  if not private.erase_person(private.my_id()) then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
end
$$;
comment on function api.erase_me() is 'Erases the caller. Of two calls at once one gets 401. Definer, as erase_person.';
