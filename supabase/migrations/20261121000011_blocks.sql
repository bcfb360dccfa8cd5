-- Blocks: who wants to hear nothing more from whom. It holds both ways, and nobody is told that they were blocked.
create table private.blocks (
  blocker_id bigint not null references public.users (id) on delete cascade,
  blocked_id bigint not null references public.users (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (blocker_id, blocked_id),
  constraint "nobody blocks themselves" check (blocker_id <> blocked_id)
);
comment on table private.blocks is
  'Between the two there are no new conversations and no new messages, and no search of one finds the other. What was said before stays.';
create index blocks_blocked_id_idx on private.blocks (blocked_id);
alter table private.blocks enable row level security;

create function private.are_apart(one bigint, other bigint)
returns boolean
language sql stable security definer set search_path = ''
as $$
  select exists (select from private.blocks where blocker_id = one and blocked_id = other)
    or exists (select from private.blocks where blocker_id = other and blocked_id = one)
$$;
comment on function private.are_apart(bigint, bigint) is
  'Whether either of two people blocked the other. Definer, because callers do not read blocks: half of them are other people''s.';

create function private.kept_from(person bigint)
returns bigint[]
language sql stable security definer set search_path = ''
as $$
  select array_agg(other)
  from (
    select blocked_id from private.blocks where blocker_id = person
    union
    select blocker_id from private.blocks where blocked_id = person
  ) as others (other)
$$;
comment on function private.kept_from(bigint) is
  'Everybody a person blocked or was blocked by; null where there is nobody, which is nearly always. Definer, as are_apart.';

create function private.my_blocks()
returns json
language sql stable security definer set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object('user_id', users.id, 'name', users.name, 'createdAt', private.iso(blocks.created_at))
      order by blocks.created_at desc, users.id desc
    ),
    '[]'
  )
  from private.blocks
  join public.users on users.id = blocks.blocked_id
  where blocks.blocker_id = (select private.my_id())
$$;
comment on function private.my_blocks() is
  'Whom the caller blocked as [{user_id, name, createdAt}], latest first. Definer, because callers read neither blocks nor other people''s names.';
grant execute on function private.my_blocks() to authenticated;

create function api.list_blocks()
returns json
language sql stable security invoker set search_path = ''
as $$
  select private.my_blocks()
$$;
comment on function api.list_blocks() is 'Whom the caller blocked, latest first.';
grant execute on function api.list_blocks() to edge_functions;

create function api.block_person(other_user bigint)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  if other_user = me then
    raise sqlstate 'PT400' using message = 'user_id: nobody can block themselves';
  end if;
  if not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  -- One at a time, so that the limit holds.
  perform from public.users where id = me and is_active for no key update;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;
  if (select count(*) from private.blocks where blocker_id = me and blocked_id <> other_user) >= 1000 then
    raise sqlstate 'PT400' using message = 'user_id: nobody can block more than 1,000 people';
  end if;
  insert into private.blocks (blocker_id, blocked_id)
  values (me, other_user)
  on conflict do nothing;
  return to_json(true);
end
$$;
comment on function api.block_person(bigint) is
  'Blocks somebody for the caller; a repeat changes nothing. Definer, because nobody holds a grant on blocks: they are written here alone.';
grant execute on function api.block_person(bigint) to edge_functions;

create function api.unblock_person(other_user bigint)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
begin
  if other_user = me then
    raise sqlstate 'PT400' using message = 'user_id: nobody can block themselves';
  end if;
  delete from private.blocks where blocker_id = me and blocked_id = other_user;
  if not found and not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  return to_json(true);
end
$$;
comment on function api.unblock_person(bigint) is
  'Takes the caller''s block of somebody back; a repeat changes nothing. Definer, as block_person.';
grant execute on function api.unblock_person(bigint) to edge_functions;

create function private.my_open_conversations()
returns setof bigint
language sql stable security definer set search_path = ''
as $$
  select id
  from public.conversations
  where (voyager_id = (select private.my_id()) or local_id = (select private.my_id()))
    and voyager_id <> all (coalesce((select private.kept_from((select private.my_id()))), '{}'))
    and local_id <> all (coalesce((select private.kept_from((select private.my_id()))), '{}'))
$$;
comment on function private.my_open_conversations() is
  'Those of my_conversations in which neither has blocked the other, for policies on speaking. Definer, as my_conversations.';
grant execute on function private.my_open_conversations() to authenticated;

create or replace function api.open_conversation(other_user bigint)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  opened public.conversations;
begin
  if me is null then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  elsif other_user = me then
    raise sqlstate 'PT400' using message = 'other_user_id: nobody can open a conversation with themselves';
  end if;
  if not exists (select from public.users where id = other_user and is_active) then
    raise sqlstate 'PT404' using message = 'User not found';
  end if;
  insert into public.conversations (voyager_id, local_id)
  select me, other_user
  where not private.are_apart(me, other_user)
  on conflict (least(voyager_id, local_id), greatest(voyager_id, local_id)) do nothing
  returning * into opened;
  if opened.id is null then
    -- The conflict waited for the other opener to commit, so this statement's snapshot has the row.
    select *
    into opened
    from public.conversations
    where least(voyager_id, local_id) = least(me, other_user)
      and greatest(voyager_id, local_id) = greatest(me, other_user);
    if opened.id is null then
      raise sqlstate 'PT403' using message = 'You cannot write to this person';
    end if;
    raise sqlstate 'PT409' using
      message = 'A conversation with this user already exists',
      detail = json_build_object('conversation_id', opened.id);
  end if;
  return json_build_object('id', opened.id, 'voyager_id', opened.voyager_id, 'local_id', opened.local_id);
end
$$;
comment on function api.open_conversation(bigint) is
  'Opens the pair''s conversation: the caller is the voyager. 409 carries the id of the one that is there, 403 says that one of the two
blocked the other, and not who. Definer, because nobody holds a grant to insert conversations: they come into being here alone.';
grant execute on function api.open_conversation(bigint) to edge_functions;

create or replace function api.send_message(conversation bigint, draft jsonb)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  me bigint := private.my_id();
  partner bigint;
  my_name text;
  key uuid := (draft ->> 'client_id')::uuid;
  sent public.messages;
begin
  -- The lock gives ids in commit order within the conversation, and lets one of two sends with the same key in at a time.
  select case me when voyager_id then local_id else voyager_id end
  into partner
  from public.conversations
  where id = conversation and me in (voyager_id, local_id)
  for no key update;
  if not found then
    raise sqlstate 'PT404' using message = 'Conversation not found';
  end if;
  -- Shared, so that who is erased meanwhile leaves no name behind: the one waits for the other.
  select name into my_name from public.users where id = me and is_active for share;
  if not found then
    raise sqlstate 'PT401' using message = 'This account no longer exists';
  end if;

  insert into public.messages (conversation_id, user_id, content, attachment, client_id)
  select conversation, me, draft ->> 'content', nullif(draft -> 'attachment', 'null'), key
  where not private.are_apart(me, partner)
  on conflict (user_id, client_id) where client_id is not null do nothing
  returning * into sent;

  if sent.id is null then
    select * into sent from public.messages where user_id = me and client_id = key;
    if sent.id is null then
      raise sqlstate 'PT403' using message = 'You cannot write to this person';
    end if;
    if (sent.conversation_id, sent.content, sent.attachment)
      is distinct from (conversation, draft ->> 'content', nullif(draft -> 'attachment', 'null')) then
      raise sqlstate 'PT422' using message = 'This idempotency key was used for another message';
    end if;
    perform private.tell_door('{"replayed": true}');
    sent.read := false;
    select coalesce(min(sender_name), my_name) into my_name from private.receipts where message_id = sent.id;
  elsif key is not null then
    insert into private.receipts (message_id, sender_name) values (sent.id, my_name);
  end if;

  return private.message_body(sent, my_name);
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id} as the caller; a client_id seen before answers the first answer again and tells the door
so. 403 says that one of the two blocked the other, and not who. Definer, because nobody holds a grant to insert messages: they are written here alone.';
grant execute on function api.send_message(bigint, jsonb) to edge_functions;

alter type private.search_filter add attribute hidden bigint[];
comment on type private.search_filter is
  'What a profile must have to be found at all: facet keys, phrases, no excluded words, and another owner than the caller or, where there
are blocks, those hidden from the caller.';

-- Without `set search_path`, so that it is inlined and the indexes of what it asks for are used.
create or replace function private.is_sought(entry private.search_entries, sought private.search_filter)
returns boolean
language sql immutable security invoker
as $$
  select (sought.interests = '{}' or entry.interest_keys && sought.interests)
    and (sought.cities = '{}' or entry.city_key = any (sought.cities))
    and (sought.countries = '{}' or entry.country_key = any (sought.countries))
    and (sought.must is null or entry.words @@ sought.must)
    and (sought.must_not is null or not entry.words @@ sought.must_not)
    and (sought.caller is null or entry.user_id <> sought.caller)
    and (sought.hidden is null or entry.user_id <> all (sought.hidden))
$$;
comment on function private.is_sought(private.search_entries, private.search_filter) is 'Whether a profile passes the filters of a search.';

create or replace function private.find_profiles(
  query text,
  meaning extensions.halfvec,
  meaning_model text,
  ratio double precision,
  filters jsonb,
  caller bigint,
  page_limit integer,
  page_offset bigint,
  explain boolean
)
returns json
language plpgsql stable security definer
set search_path = 'extensions'
-- Planning its statements anew would take longer than most of them.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- No more are scored, and no total counts further, whatever a query matches.
  most constant integer := 1000;
  -- Up to so many rows, measuring every one is as quick as walking the index, and exact.
  few constant integer := 2000;
  model private.search_models;
  words constant private.query_word[] := array(select part from private.parse_query(query) as part);
  asked constant integer := coalesce((select max(place) from unnest(words) where not excluded), 0);
  allowed constant integer[] := array(select private.typo_budget(word) from unnest(words) where not excluded order by place);
  -- As many neighbours as one walk of the index yields; who asks with no words gets them all, near or not.
  reach constant integer := case when asked > 0 then 100 else most end;
  furthest double precision := 2;
  terms private.search_term[];
  sought private.search_filter;
  filtered boolean;
  within bigint[];
  by_words bigint[] := array[]::bigint[];
  by_meaning bigint[] := array[]::bigint[];
  answer json;
begin
  select * into model from private.search_models where name = meaning_model;
  if model.name is null then
    meaning := null;
  end if;
  if asked > 0 then
    furthest := 1 - model.near_enough;
    terms := coalesce(private.terms_of(words), '{}');
  end if;
  with units as (
    select excluded, quoted, string_agg(quote_literal(word), ' <-> ' order by place)::tsquery as phrase
    from unnest(words)
    group by excluded, quoted, unit
  )
  select
    private.as_keys(filters -> 'interests'),
    private.as_keys(filters -> 'cities'),
    private.as_keys(filters -> 'countries'),
    (select string_agg(phrase::text, ' & ')::tsquery from units where quoted and not excluded),
    (select string_agg('(' || phrase::text || ')', ' | ')::tsquery from units where excluded),
    caller,
    private.kept_from(caller)
  into sought;
  filtered := sought.interests || sought.cities || sought.countries <> '{}';

  if filtered or not exists (select from private.search_entries offset few) then
    -- Planned for the filters at hand, so that it takes their indexes.
    execute 'select array(select profile_id from private.search_entries as entry where private.is_sought(entry, $1) limit $2 + 1)'
    into within
    using sought, few;
    if cardinality(within) > few then
      within := null;
    end if;
  end if;

  if cardinality(terms) > 0 then
    by_words := private.holders_of(private.bearing_terms(terms), sought, within, most);
  end if;
  if asked = 0 and meaning is null then
    by_words := array(
      select profile_id
      from private.search_entries as entry
      where private.is_sought(entry, sought)
      order by profile_id
      limit most
    );
  end if;

  if meaning is not null and within is not null then
    by_meaning := array(
      select profile_id
      from private.search_entries
      where profile_id = any (within)
        and search_entries.model = meaning_model
        and embedding <=> meaning <= furthest
      order by embedding <=> meaning, profile_id
      limit reach
    );
  elsif meaning is not null then
    by_meaning := private.nearest_profiles(meaning, meaning_model, sought, reach, furthest);
  end if;

  with keyword as (
    select * from private.keyword_scores(by_words, terms, asked, allowed)
  ),
  measured as materialized (
    select profile_id, entry.model = meaning_model and meaning is not null as has_meaning, 1 - (embedding <=> meaning) as cosine
    from private.search_entries as entry
    where profile_id = any (by_words || by_meaning)
  ),
  scored as (
    select
      measured.profile_id,
      case when asked = 0 and meaning is null then 1 else coalesce(keyword.score, 0) end as keyword,
      keyword.named,
      keyword.ranks,
      case when has_meaning then cosine end as cosine,
      -- A leg that is missing, for the whole query or for one entry, leaves all the weight to the other.
      case when not coalesce(has_meaning, false) then 0 when cardinality(by_words) = 0 then 1 else ratio end as ratio
    from measured
    left join keyword on keyword.profile_id = measured.profile_id
  ),
  calibrated as (
    select
      *,
      coalesce(least(1, greatest(0, (cosine - model.nothing_alike) / (model.much_alike - model.nothing_alike))), 0) as semantic
    from scored
  ),
  ranked as materialized (
    select
      *,
      greatest(
        (1 - calibrated.ratio) * keyword + calibrated.ratio * semantic,
        case when named then keyword end
      ) as score
    from calibrated
  ),
  page as (
    select *
    from ranked
    order by score desc, keyword desc, profile_id
    limit greatest(0, least(page_limit, most - page_offset))
    offset page_offset
  )
  select json_build_object(
    'hits', coalesce(
      json_agg(
        case
          when explain then (
            private.hit_body(entry, page.score)::jsonb || jsonb_build_object('_rankingScoreDetails', jsonb_build_object(
              'words', private.keyword_details(page.ranks),
              'keyword', page.keyword,
              'cosine', page.cosine,
              'nothingAlike', model.nothing_alike,
              'muchAlike', model.much_alike,
              'semantic', page.semantic,
              'ratio', page.ratio,
              'named', coalesce(page.named, false)
            ))
          )::json
          else private.hit_body(entry, page.score)
        end
        order by page.score desc, page.keyword desc, page.profile_id
      ),
      '[]'
    ),
    'query', query,
    'estimatedTotalHits', least(most, (select count(*) from ranked)),
    'limit', page_limit,
    'offset', page_offset
  )
  into answer
  from page
  join private.search_entries as entry on entry.profile_id = page.profile_id;
  return answer;
end
$$;
comment on function private.find_profiles(text, extensions.halfvec, text, double precision, jsonb, bigint, integer, bigint, boolean) is
  'The search: profiles that hold the words of a query or are near it in meaning, filtered, best first, with their exact number up to
1,000. score = (1 - ratio) * keyword + ratio * semantic, both reckoned for every profile that either leg found, and never less than the
keyword score where all the words stand in the name. Definer, because callers do not read the index.';
