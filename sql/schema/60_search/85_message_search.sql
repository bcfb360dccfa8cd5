-- The search of one's own messages. It reads what the caller may read, from the newest on, and has no index: GIN over
-- the words is 2 to 3 % of a send and finds no typing errors, and .8 s suffice for 100,000 messages (docs/scale.md).

create function private.message_patterns(query text)
returns text[]
language plpgsql immutable security invoker set search_path = ''
as $$
declare
  unspaced constant text := private.unspaced_letters();
  separators constant text := '[:space:][:punct:][:cntrl:]' || unspaced;
  terms constant text[] := array(
    select term[1]
    from regexp_matches(
      private.fold(query) collate pg_catalog.pg_c_utf8, format('[%s]+|[^%s]+', unspaced, separators), 'g'
    ) with ordinality as found (term, place)
    order by place
    limit 11
  );
begin
  return array(
    select
      case when term ~ format('^[%s]', unspaced) then format('(%s)', term)
        else format('(?:^|[%s])((?:%s)%s', separators, spellings, case
          when place = cardinality(terms) and query !~ '[[:space:]"]$' then format('[^%s]*)', separators)
          else format(')(?=$|[%s])', separators)
        end)
      end
    from unnest(terms) with ordinality as typed (term, place)
    cross join lateral (
      select concat_ws('|', term, string_agg(left(term, at - 1) || instead || substr(term, at + replaced), '|'))
      from generate_series(2, char_length(term) + 1) as at
      cross join lateral (
        values
          -- Another letter or none, one more, two that have changed places.
          ('.?', 1), ('.', 0), (substr(term, at + 1, 1) || substr(term, at, 1), 2)
      ) as errors (instead, replaced)
      where char_length(term) between 5 and 20 and at + replaced <= char_length(term) + 1
    ) as meant (spellings)
    where place <= 10
    order by place
  );
end
$$;
comment on function private.message_patterns(text) is
  'A regular expression for each of the first ten words of a query, to find it in a folded text: with one error, but not
in its first letter, if it has 5 to 20, and the last also as a beginning, unless a space or quote follows. In scripts
without spaces what is written together is one word.';

create function api.search_messages(page jsonb)
returns json
language plpgsql stable security definer
set search_path = ''
-- As in api.list_messages.
set enable_bitmapscan = off
as $$
declare
  page_limit constant integer := (page ->> 'limit')::integer;
  chosen constant bigint := (page ->> 'conversation_id')::bigint;
  patterns constant text[] := private.message_patterns(page ->> 'q');
  ends_at constant timestamptz := clock_timestamp() + (page ->> 'timeout' || ' ms')::interval;
  -- What is read between two looks at the clock: with the longest messages half a second.
  step constant integer := 100;
  mine bigint[] := array[chosen];
  readable bigint[] := array[]::bigint[];
  compared integer := 0;
  listed private.message_view[] := array[]::private.message_view[];
  words text[] := array[]::text[];
  next bigint;
  hit record;
begin
  if chosen is not null then
    perform private.require_participant(chosen);
  else
    mine := array(select private.my_conversations());
  end if;
  if patterns <> '{}' then
    readable := array(
      select id
      from public.messages
      where conversation_id = any (mine) and id < coalesce((page ->> 'before_id')::bigint, 9223372036854775807)
      order by id desc
      limit 100000
    );
  end if;
  while compared < cardinality(readable) and cardinality(listed) <= page_limit and next is null loop
    for hit in
      select messages as message, users.name, folded
      from public.messages
      join public.users on users.id = messages.user_id
      cross join lateral (select private.fold(content) collate pg_catalog.pg_c_utf8 as folded) as text
      where messages.id = any (readable[compared + 1:compared + step]) and folded ~ all (patterns)
      order by messages.id desc
      limit page_limit + 1 - cardinality(listed)
    loop
      listed := listed || private.to_message_view(
        hit.message, json_build_object('id', (hit.message).user_id, 'name', hit.name)
      );
      words := words || array(
        select word[1] from unnest(patterns) as pattern cross join regexp_matches(hit.folded, pattern, 'g') as word
      );
    end loop;
    compared := compared + step;
    if clock_timestamp() > ends_at or compared = 100000 then
      next := readable[compared];
    end if;
  end loop;
  if cardinality(listed) <= page_limit and next is not null then
    perform private.set_response_metadata(jsonb_build_object('next', next));
  end if;
  return json_build_object(
    'messages', private.to_page(listed, page_limit, next => listed[page_limit].id),
    'words', array(select distinct word from unnest(words) as word)
  );
end
$$;
comment on function api.search_messages(jsonb) is
  'The messages of the caller''s conversations, or of one of them, that have all words of a query {q, conversation_id,
limit, before_id, timeout}, newest first: {messages, words}, words being the ones by which they were found. The response
metadata holds the id before which to go on, if there may be more. It ends after `timeout` milliseconds, even if nothing
was found by then. Definer, as list_messages.';
