-- Whom a filter leaves, up to 10,000, is measured rather than walked past.
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
language plpgsql stable security invoker
set search_path = 'extensions'
-- Planning its statements anew would take longer than most of them.
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  -- No more are scored, and no total counts further, whatever a query matches.
  most constant integer := 1000;
  -- Up to so many rows, measuring every one is exact, and quicker than walking the index, on which those that a filter leaves lie far apart.
  few integer := 2000;
  model private.search_models;
  words constant private.query_word[] := array(select part from private.parse_query(query) as part);
  asked constant integer := coalesce((select max(place) from unnest(words) where not excluded), 0);
  allowed constant integer[] := array(select private.typo_budget(word) from unnest(words) where not excluded order by place);
  -- Who asks with no words gets everybody, near or not.
  furthest double precision := 2;
  terms private.search_term[];
  sought private.search_filter;
  filtered boolean;
  reach integer;
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
  if filtered then
    few := 10000;
  end if;

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

  -- Those besides whom the words brought, as many as the total still counts, and no fewer than make the first pages.
  reach := greatest(100, most - cardinality(by_words));
  if meaning is not null and within is not null then
    by_meaning := array(
      select profile_id
      from private.search_entries
      where profile_id = any (within)
        and profile_id not in (select unnest(by_words))
        and search_entries.model = meaning_model
        and embedding <=> meaning <= furthest
      order by embedding <=> meaning, profile_id
      limit reach
    );
  elsif meaning is not null then
    by_meaning := private.nearest_profiles(meaning, meaning_model, sought, by_words, reach, furthest);
  end if;

  with measured as materialized (
    select profile_id, entry.model = meaning_model and meaning is not null as has_meaning, 1 - (embedding <=> meaning) as cosine
    from private.search_entries as entry
    where profile_id = any (by_words || by_meaning)
  ),
  bounds as (
    select * from private.keyword_bounds(by_words, terms, asked, allowed)
  ),
  weighed as (
    select
      measured.profile_id,
      case when asked = 0 and meaning is null then 1 else coalesce(bounds.at_least, 0) end as at_least,
      case when asked = 0 and meaning is null then 1 else coalesce(bounds.at_most, 0) end as at_most,
      bounds.named,
      case when has_meaning then cosine end as cosine,
      case
        when has_meaning then least(1, greatest(0, (cosine - model.nothing_alike) / (model.much_alike - model.nothing_alike)))
        else 0
      end as semantic,
      -- A leg that is missing, for the whole query or for one entry, leaves all the weight to the other.
      case when not coalesce(has_meaning, false) then 0 when cardinality(by_words) = 0 then 1 else ratio end as ratio
    from measured
    left join bounds on bounds.profile_id = measured.profile_id
  ),
  candidates as materialized (
    select
      *,
      private.hybrid_score(weighed.ratio, at_least, semantic, named) as lowest,
      private.hybrid_score(weighed.ratio, at_most, semantic, named) as highest
    from weighed
  ),
  contenders as materialized (
    -- Who cannot come onto the page, however well they hold the words, need not be scored. Less a little, for what rounding does.
    select *
    from candidates
    where highest >= coalesce(
      (select lowest from candidates order by lowest desc offset least(page_offset, most) + page_limit - 1 limit 1) - 1e-9,
      0
    )
  ),
  keyword as (
    select *
    from private.keyword_scores(array(select profile_id from contenders where named is not null), terms, asked, allowed)
  ),
  ranked as (
    select
      contenders.profile_id,
      coalesce(keyword.score, contenders.at_least) as keyword,
      contenders.named,
      keyword.ranks,
      contenders.cosine,
      contenders.semantic,
      contenders.ratio,
      private.hybrid_score(contenders.ratio, coalesce(keyword.score, contenders.at_least), semantic, contenders.named) as score
    from contenders
    left join keyword on keyword.profile_id = contenders.profile_id
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
    'estimatedTotalHits', least(most, (select count(*) from candidates)),
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
  'The search: profiles that hold the words of a query or are near it in meaning, filtered, best first, with their number up to 1,000,
which beyond 2,000 profiles, or 10,000 that a filter leaves, is as exact as a walk along the index of vectors. Of everybody whom either leg
found it reckons both parts of the score, that of the words as closely as the page needs.';

comment on function private.keyword_bounds(bigint[], private.search_term[], integer, integer[]) is
  'Between what the keyword scores of entries lie, by which words they hold in which attributes, at a third of what the scores themselves
take. Arguments and `named` as in keyword_scores, with its weights.';

-- Doors of the release before do not look at files, and what they send is taken as it was.
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
    and exists (select from public.users where id = partner and erased_at is null)
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
  else
    -- Doors of the release before do not look, and do not say so either.
    if draft ? 'type_is_true' then
      perform private.require_true_type(sent.attachment, (draft ->> 'type_is_true')::boolean);
    end if;
    if key is not null then
      insert into private.receipts (message_id, sender_name) values (sent.id, my_name);
    end if;
  end if;

  return private.message_body(sent, my_name);
end
$$;
comment on function api.send_message(bigint, jsonb) is
  'Sends {content, attachment, client_id, type_is_true} as the caller; a client_id seen before answers the first answer again and tells
the door so. 403 says that one of the two blocked the other or that the other erased themselves, and not which. Definer, because nobody holds
a grant to insert messages: they are written here alone.';

-- A process that starts touches only what lacks the model that it makes vectors with.
create or replace function private.adopt_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_models (name, nothing_alike, much_alike, near_enough)
  values (wanted, 0.1, 0.6, 0.3)
  on conflict do nothing;
  -- Past what is queued for it already, or each process that starts would hold the whole queue for a moment.
  insert into private.embedding_queue as job (kind, id, model)
  select kind, id, wanted
  from (
    select 'profile' as kind, profile_id as id from private.search_entries where model is distinct from wanted
    union all
    select 'context', user_id from private.search_contexts where model is distinct from wanted
  ) as lacking
  where not exists (
    select from private.embedding_queue as queued
    where queued.kind = lacking.kind and queued.id = lacking.id and queued.model = wanted
  )
  on conflict (kind, id) do update set attempts = 0, due_at = now(), last_error = null, model = wanted
  where job.model is distinct from wanted;
end
$$;
comment on function private.adopt_model(text) is
  'Queues everything that has no vector of this model, also what another model gave up. Vectors of different models are never compared: until
theirs is made, profiles are found by words. Definer, because the doors hold no right on the index.';
