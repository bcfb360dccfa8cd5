-- Functions that only definers call have their callers' rights, as private.count_words has. Whether two people are apart, and from whom somebody
-- is, is asked at each send and search: with a kept plan in 0.05 ms rather than 0.12 and 0.19. Marking read asks once who does.
create or replace function private.are_apart(one bigint, other bigint)
returns boolean
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return exists (select from private.blocks where blocker_id = one and blocked_id = other)
    or exists (select from private.blocks where blocker_id = other and blocked_id = one);
end
$$;
comment on function private.are_apart(bigint, bigint) is
  'Whether either of two people blocked the other. For definer verbs alone: callers do not read blocks, half of them are other people''s.';

create or replace function private.kept_from(person bigint)
returns bigint[]
language plpgsql stable security invoker set search_path = ''
as $$
begin
  return (
    select array_agg(other)
    from (
      select blocked_id from private.blocks where blocker_id = person
      union
      select blocker_id from private.blocks where blocked_id = person
    ) as others (other)
  );
end
$$;
comment on function private.kept_from(bigint) is
  'Everybody a person blocked or was blocked by; null where there is nobody, which is nearly always. For definers alone, as are_apart.';

create or replace function api.mark_read(conversation bigint, message bigint, and_before boolean)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  perform private.require_participation(conversation);
  if not exists (select from public.messages where id = message and conversation_id = conversation) then
    raise sqlstate 'PT404' using message = 'Message not found';
  end if;
  update public.messages
  set read = true
  where conversation_id = conversation
    and (id = message or and_before and id < message)
    and user_id <> me
    and not read;
  return json_build_object('success', true);
end
$$;
comment on function api.mark_read(bigint, bigint, boolean) is
  'Marks a message that the caller received as read, and with and_before all they received before it; their own, or what is read
already, stays as it is. Definer, because nobody holds a grant to update messages, and read may only ever become true.';

create or replace function private.entry_text(profile bigint)
returns text
language sql stable security invoker set search_path = ''
as $$
  select concat_ws('. ', nullif(array_to_string(interests, ', '), ''), concat_ws(', ', city, country), biography)
  from private.search_entries
  where profile_id = profile
$$;
comment on function private.entry_text(bigint) is 'What a profile''s vector is made from.';

create or replace function private.context_text(person bigint)
returns text
language sql stable security invoker set search_path = ''
as $$
  select concat_ws(
    '. ',
    (
      select string_agg(interests.name, ', ' order by interests.name)
      from public.profiles
      join public.profile_interests on profile_interests.profile_id = profiles.id
      join public.interests on interests.id = profile_interests.interest_id
      where profiles.user_id = users.id
    ),
    users.bio,
    users.location
  )
  from public.users
  where id = person and is_active
$$;
comment on function private.context_text(bigint) is 'What a person''s context is made from.';

create or replace function private.refresh_search_context(person bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  own text := private.context_text(person);
begin
  if own is null or own = '' then
    delete from private.search_contexts where user_id = person;
    return;
  end if;
  insert into private.search_contexts as context (user_id, content_hash)
  values (person, md5(own))
  on conflict (user_id) do update set
    content_hash = excluded.content_hash,
    embedding = null,
    model = null
  where context.content_hash <> excluded.content_hash;
end
$$;
comment on function private.refresh_search_context(bigint) is
  'Makes a person''s context what it should be now. For definer triggers alone: whoever changes a profile may not write the index.';

create or replace function private.audit_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- One audit at a time; whoever comes meanwhile has the one before.
  if pg_try_advisory_xact_lock('private.search_audit'::regclass::oid::bigint) then
    -- One statement sees one moment, and in each moment the index is in step: nobody who writes need wait.
    with shown as (
      select
        profiles, profiles.id, users.id as user_id, users.name, profiles.biography, profiles.city, profiles.country,
        coalesce(likes.names, '{}') as interests, profiles.image_url
      from public.profiles
      join public.users on users.id = profiles.user_id
      left join (
        select profile_id, array_agg(interests.name order by interests.name) as names
        from public.profile_interests
        join public.interests on interests.id = profile_interests.interest_id
        group by profile_id
      ) as likes on likes.profile_id = profiles.id
      where profiles.is_searchable and users.is_active
    ),
    -- Looking at every word again takes up to 5 ms a profile (PGlite, a busy machine), so a hundred are drawn, others each time.
    drawn as (
      select shown.profiles, shown.id, shown.name, shown.interests, entry.words
      from shown
      join private.search_entries as entry on entry.profile_id = shown.id
      order by random()
      limit 100
    ),
    findings (finding, amount) as (
      select 'missing', count(*)
      from shown
      where not exists (select from private.search_entries where profile_id = shown.id)
      union all
      select 'surplus', count(*)
      from private.search_entries
      where not exists (select from shown where shown.id = profile_id)
      union all
      select 'stale', count(*)
      from shown
      join private.search_entries as entry on entry.profile_id = shown.id
      where (entry.user_id, entry.name, entry.biography, entry.city, entry.country, entry.interests, entry.image_url)
        is distinct from
        (shown.user_id, shown.name, shown.biography, shown.city, shown.country, shown.interests, shown.image_url)
      union all
      select 'misworded', count(*)
      from drawn
      cross join lateral private.spots_of(drawn.profiles, drawn.name, drawn.interests) as fresh
      cross join lateral (
        select coalesce(jsonb_object_agg(word, to_jsonb(spots)), '{}') as spots
        from private.search_postings
        where profile_id = drawn.id
      ) as kept
      where kept.spots <> fresh or drawn.words <> private.words_from_spots(fresh)
      union all
      select 'miscounted', count(*)
      from private.search_lexicon as lexicon
      full join (
        select word, count(*) as entries from private.search_postings where word <> '' group by word
      ) as counted using (word)
      where lexicon.entries is distinct from counted.entries
      union all
      select 'forgotten', count(*)
      from (
        select 'profile' as kind, profile_id as id from private.search_entries where model is null
        union all
        select 'context', user_id from private.search_contexts where model is null
      ) as without_vector
      where not exists (
        select from private.embedding_queue as job where job.kind = without_vector.kind and job.id = without_vector.id
      )
    )
    insert into private.search_audit as audit (finding, amount, audited_at)
    select finding, amount, now()
    from findings
    on conflict (finding) do update set amount = excluded.amount, audited_at = excluded.audited_at;
  end if;
  return (select json_object_agg(finding, amount order by finding) from private.search_audit);
end
$$;
comment on function private.audit_search_index() is
  'Counts where the index and the profiles differ. missing, surplus: in the search or not, and should not be or be; stale: with other
texts; misworded: found by other words (of 100 drawn at random); miscounted: words whose number the lexicon has wrong; forgotten: without a
vector and not queued for one.';

create or replace function private.rebuild_search_index()
returns json
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  -- As in refresh_search_entry: whoever writes a profile waits until this is done.
  perform pg_advisory_xact_lock('private.search_entries'::regclass::oid::bigint);
  delete from private.search_entries as entry
  where not exists (
    select
    from public.profiles
    join public.users on users.id = profiles.user_id
    where profiles.id = entry.profile_id and profiles.is_searchable and users.is_active
  );
  -- No entry looks as it should, so each is written anew; a vector stays where its text is the same.
  update private.search_entries set name = '';
  perform private.refresh_search_entry(id) from public.profiles where is_searchable;
  perform private.refresh_search_context(id) from public.users;
  delete from private.search_lexicon;
  insert into private.search_lexicon (word, entries)
  select word, count(*)::integer from private.search_postings where word <> '' group by word;
  insert into private.embedding_queue (kind, id)
  select 'profile', profile_id from private.search_entries where model is null
  union all
  select 'context', user_id from private.search_contexts where model is null
  on conflict (kind, id) do nothing;
  return private.audit_search_index();
end
$$;
comment on function private.rebuild_search_index() is
  'Makes the index what the profiles say, whatever it was; answers with the audit. Nobody can change a profile meanwhile: up to 12 ms for each that there is.';

create or replace function private.tell_participants(event text, conversation bigint, id bigint, previous_id bigint, person bigint)
returns void
language plpgsql volatile security invoker
set search_path = ''
-- Realtime makes and drops partitions of its table now and then; a message is not to wait for that.
set lock_timeout = '100ms'
as $$
declare
  topics text[];
begin
  select array_agg('user:' || users.id)
  into topics
  from public.conversations
  join public.users on users.id in (conversations.voyager_id, conversations.local_id)
  where conversations.id = conversation and users.is_active;
  -- Realtime asks for a person's rights when they join, not for each event. So who is deactivated is simply not sent to any more.
  if cardinality(topics) = 2 then
    topics := topics || ('conversation:' || conversation);
  end if;
  perform realtime.send(
    jsonb_build_object('conversation_id', conversation, 'id', id, 'previous_id', previous_id, 'user_id', person), event, topic, true
  )
  from unnest(topics) as topic;
exception
  -- Whatever ails Realtime, even that it is not there, the write that this is about stands.
  when others then
    raise warning 'An event % could not be sent: %', event, sqlstate;
end
$$;
comment on function private.tell_participants(text, bigint, bigint, bigint, bigint) is
  'Sends one event {conversation_id, id, previous_id, user_id} to both participants who are active, and to the conversation''s topic
while both are. Never fails. For definer triggers alone: nobody may send on these topics, and one that sent as the writer would send nothing.';

create or replace function private.turn_key(kind text, who text)
returns bytea
language plpgsql volatile security invoker set search_path = ''
as $$
declare
  todays text := (select salt from private.turn_salts where made_on = current_date);
begin
  if todays is null then
    delete from private.turn_salts where made_on < current_date;
    insert into private.turn_salts (salt)
    values (gen_random_uuid()::text || gen_random_uuid()::text)
    on conflict do nothing;
    select salt into strict todays from private.turn_salts where made_on = current_date;
  end if;
  return sha256(convert_to(concat_ws(' ', todays, kind, who), 'utf8'));
end
$$;
comment on function private.turn_key(text, text) is
  'Under what a person''s or an address''s turns are kept today.';

create or replace function private.forget_turns()
returns void
language sql volatile security invoker set search_path = ''
as $$
  delete from private.turns
  where key in (select key from private.turns where whole_at < clock_timestamp() for update skip locked)
$$;
comment on function private.forget_turns() is
  'Drops the rows that say nothing any more, and waits for nobody.';
