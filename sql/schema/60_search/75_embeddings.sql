-- Embeddings of profiles and of users' contexts are made later: the queue that the Edge Function embed takes them from.

create table private.embedding_queue (
  kind text not null check (kind in ('profile', 'context')),
  id bigint not null,
  attempts integer not null default 0,
  failures integer not null default 0,
  due_at timestamptz not null default now(),
  last_error text,
  queued_at timestamptz not null default now(),
  model text,
  primary key (kind, id)
);
comment on table private.embedding_queue is
  'What has needed an embedding since `queued_at`: profiles (by profile id) and contexts (by user id). `attempts`: how
often a worker was killed with it, or the provider refused it by itself (no outage makes dead letters); with 8 it is a
dead letter until its text or the model changes. `failures`: how often it was tried, for whatever end: after each it
waits longer, and it is tried alone. Both are of `model`, and start again at 0 for another one.';
create index embedding_queue_due_at_idx on private.embedding_queue (due_at) where attempts < 8;
alter table private.embedding_queue enable row level security;

create function private.enqueue_embedding(subject text, subject_id bigint)
returns void
language plpgsql volatile security invoker set search_path = ''
as $$
begin
  insert into private.embedding_queue (kind, id)
  values (subject, subject_id)
  on conflict (kind, id) do update set attempts = 0, failures = 0, due_at = now(), last_error = null;
end
$$;
comment on function private.enqueue_embedding(text, bigint) is
  'Queues a profile or context whose text is new, with all attempts before it.';

create function private.adopt_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_models (name, similarity_floor, similarity_ceiling, similarity_threshold, trust)
  values (wanted, 0.1, 0.6, 0.3, 3.0 / 7)
  -- Until calibrate_model has measured it.
  on conflict do nothing;
  -- Skips what is queued for this model already: else each process that starts would lock the whole queue for a moment.
  insert into private.embedding_queue as job (kind, id, model)
  select kind, id, wanted
  from (
    select 'profile' as kind, profile_id as id from private.search_entries where model is distinct from wanted
    union all
    select 'context', user_id from private.search_contexts where model is distinct from wanted
  ) as missing
  where not exists (
    select from private.embedding_queue as queued
    where queued.kind = missing.kind and queued.id = missing.id and queued.model = wanted
  )
  on conflict (kind, id) do update set attempts = 0, failures = 0, due_at = now(), last_error = null, model = wanted
  where job.model is distinct from wanted;
end
$$;
comment on function private.adopt_model(text) is
  'Queues everything that has no embedding of this model, dead letters of other models included. Embeddings of different
models are never compared. Definer, as all that edge_functions may do with index and queue.';

create function private.entry_parts(profile bigint)
returns text[]
language plpgsql stable security invoker set search_path = ''
as $$
declare
  parts text[];
begin
  select entry.interests || array(
    select sentence
    from regexp_split_to_table(entry.biography, '[.!?…]+(?=\s|$)|[。！？\r\n]+') with ordinality as split (piece, place)
    cross join lateral btrim(piece, e' \t') as sentence
    where sentence <> ''
    order by place
  )
  into parts
  from private.search_entries as entry
  where profile_id = profile;
  if cardinality(parts) = 1 and parts[1] = btrim(private.entry_text(profile), ' .!?。！？') then
    return '{}'::text[];
  end if;
  return array(
    select string_agg(part, '. ' order by place)
    from unnest(parts) with ordinality as listed (part, place)
    group by (place - 1) * 32 / greatest(cardinality(parts), 32)
    order by min(place)
  );
end
$$;
comment on function private.entry_parts(bigint) is
  'What of a profile gets an embedding of its own: each interest, then each sentence of the biography, 32 at most: of
more, neighbours are joined. None if its whole text is one, which a provider would be paid for twice.';

create function private.claim_embeddings(wanted text, max_jobs integer, newest boolean default false)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  claimed json;
  jobs json;
begin
  -- Usually once. Again if all that was claimed is deleted below, but not without end, because a statement has 5 s.
  for round in 1..100 loop
    with due as (
      select kind, id, failures, due_at
      from private.embedding_queue
      where due_at <= now() and attempts < 8 and (failures = 0 or not newest)
      -- Of the newest profiles before contexts, because others look for them.
      order by case when newest then due_at end desc, case when newest then kind end desc, due_at
      limit max_jobs
      for update skip locked
    ),
    taken as (
      update private.embedding_queue
      set
        attempts = attempts + 1, failures = failures + 1, last_error = null, model = wanted,
        -- The worker has half a minute. Then the job is due again, later after each failure, up to 16 minutes: after an
        -- outage everything is embedded within that time.
        due_at = now() + interval '30 seconds' * 2 ^ least(failures, 5)
      where (kind, id) in (
        select kind, id
        from (
          select *, row_number() over oldest as place, first_value(failures) over oldest as first_failures
          from due
          window oldest as (order by due_at)
        ) as ordered
        -- What was tried before is tried alone: it may be what made its call fail, or killed its worker.
        where failures = 0 and first_failures = 0 or place = 1
      )
      returning kind, id
    )
    select coalesce(json_agg(taken), '[]') into claimed from taken;

    -- Deletes jobs whose entry is gone. Another statement, which sees an entry that was shown again before this locked
    -- the row. Showing it from now on waits for this transaction, and queues the job again.
    delete from private.embedding_queue as job
    using json_to_recordset(claimed) as mine (kind text, id bigint)
    where job.kind = mine.kind and job.id = mine.id
      and not exists (select from private.search_entries where mine.kind = 'profile' and profile_id = mine.id)
      and not exists (select from private.search_contexts where mine.kind = 'context' and user_id = mine.id);

    select coalesce(json_agg(json_build_object(
      'kind', mine.kind, 'id', mine.id,
      'text', case mine.kind when 'profile' then private.entry_text(mine.id) else private.context_text(mine.id) end,
      'parts', case mine.kind when 'profile' then private.entry_parts(mine.id) else '{}' end,
      'content_hash', coalesce(entry.content_hash, context.content_hash)
    )), '[]')
    into jobs
    from json_to_recordset(claimed) as mine (kind text, id bigint)
    left join private.search_entries as entry on mine.kind = 'profile' and entry.profile_id = mine.id
    left join private.search_contexts as context on mine.kind = 'context' and context.user_id = mine.id
    where entry.profile_id is not null or context.user_id is not null;

    exit when json_array_length(jobs) > 0 or json_array_length(claimed) = 0;
  end loop;
  return jobs;
end
$$;
comment on function private.claim_embeddings(text, integer, boolean) is
  'Claims up to max_jobs due jobs for this model, to be embedded in one call: those that have been due longest, or the
newest of those that were never tried. Definer, as adopt_model.';

create function private.save_embeddings(made_by text, vectors jsonb)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  saved bigint[];
begin
  -- It locks the entries, so the sentences that follow are of the same text and model.
  with made as (
    select kind, id, content_hash, embedding::extensions.halfvec as embedding
    from jsonb_to_recordset(vectors) as vector (kind text, id bigint, content_hash text, embedding text)
  ),
  profiles as (
    update private.search_entries as entry
    set model = made_by, embedding = made.embedding
    from made
    where made.kind = 'profile' and entry.profile_id = made.id and entry.content_hash = made.content_hash
    returning 'profile' as kind, profile_id as id
  ),
  contexts as (
    update private.search_contexts as context
    set model = made_by, embedding = made.embedding
    from made
    where made.kind = 'context' and context.user_id = made.id and context.content_hash = made.content_hash
    returning 'context', user_id
  ),
  done as (
    delete from private.embedding_queue as job
    using (select * from profiles union all select * from contexts) as of_this_text
    where job.kind = of_this_text.kind and job.id = of_this_text.id
  )
  select array_agg(id) into saved from profiles;
  delete from private.search_sentences where profile_id = any (saved);
  insert into private.search_sentences (profile_id, place, embedding)
  select id, place, part::extensions.halfvec
  from jsonb_to_recordset(vectors) as vector (kind text, id bigint, parts jsonb)
  cross join lateral jsonb_array_elements_text(coalesce(parts, '[]')) with ordinality as listed (part, place)
  where kind = 'profile' and id = any (saved) and part is not null;
end
$$;
comment on function private.save_embeddings(text, jsonb) is
  'Saves embeddings [{kind, id, content_hash, embedding, parts}] of texts that have not changed; the other jobs stay
queued. Definer, as adopt_model.';

create function private.calibrate_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
  before constant integer := (select measured_profiles from private.search_models where name = wanted);
  limits double precision[];
begin
  -- Called whenever the queue is empty, so it does not count: the planner's estimate grows with each analysis.
  if before > 0
    and (select reltuples from pg_class where oid = 'private.search_entries'::regclass) < 10 * before then
    return;
  end if;
  with texts as materialized (
    select profile_id, embedding, interests
    from private.search_entries
    where model = wanted and embedding is not null
    order by random()
    limit 200
  ),
  -- Each one's first interest, because interests are as short as queries.
  queries as materialized (
    select profile_id, sentence.embedding
    from texts
    join private.search_sentences as sentence using (profile_id)
    where place = 1 and cardinality(interests) > 0
  )
  select
    percentile_cont(array[0.01, 0.705, 0.998])
    within group (order by 1 - (queries.embedding operator(extensions.<=>) texts.embedding))
  into limits
  from queries
  join texts on texts.profile_id <> queries.profile_id
  where (select count(*) from queries) >= 20;
  if limits[1] < limits[2] and limits[2] < limits[3] then
    update private.search_models
    set
      similarity_floor = limits[1], similarity_threshold = limits[2], similarity_ceiling = limits[3],
      measured_profiles = (select count(*) from private.search_entries where model = wanted)
    where name = wanted;
  end if;
end
$$;
comment on function private.calibrate_model(text) is
  'Measures a model by its own vectors, with an interest of each person for queries: the floor is the first percentile
of their cosines with the profiles of others, the threshold the 70.5th, the ceiling the 99.8th, as
bench/search/calibrate.ts finds for the offline model, knowing what is relevant. With twenty profiles, and again when
there are ten times as many. Definer, as adopt_model.';

create function private.fail_embeddings(jobs jsonb, reason text, refused boolean)
returns void
language sql volatile security definer set search_path = ''
as $$
  update private.embedding_queue as job
  set
    last_error = left(reason, 500),
    -- claim_embeddings has counted it already. Since then the text may have changed.
    attempts = case when refused then attempts else greatest(attempts - 1, 0) end
  from jsonb_to_recordset(jobs) as failed (kind text, id bigint)
  where job.kind = failed.kind and job.id = failed.id
$$;
comment on function private.fail_embeddings(jsonb, text, boolean) is
  'Records why jobs failed. An attempt counts only if the provider refused a text by itself. Definer, as adopt_model.';
