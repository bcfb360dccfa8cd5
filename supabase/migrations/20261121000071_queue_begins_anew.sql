-- What one model gave up, another tries anew.
alter table private.embedding_queue add column model text;
comment on column private.embedding_queue.model is 'Which model the attempts were made with; another begins anew, for it may take what this one refused.';

create or replace function private.adopt_model(wanted text)
returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
  insert into private.search_models (name, nothing_alike, much_alike, near_enough)
  values (wanted, 0.1, 0.6, 0.3)
  on conflict do nothing;
  insert into private.embedding_queue as job (kind, id, model)
  select 'profile', profile_id, wanted from private.search_entries where model is distinct from wanted
  union all
  select 'context', user_id, wanted from private.search_contexts where model is distinct from wanted
  on conflict (kind, id) do update set attempts = 0, due_at = now(), last_error = null, model = wanted
  where job.model is distinct from wanted;
end
$$;
comment on function private.adopt_model(text) is
  'Queues everything that has no vector of this model, also what another model gave up. Vectors of different models are never compared: until
theirs is made, profiles are found by words. Definer, because the doors hold no right on the index.';

create or replace function private.claim_embeddings(wanted text, most integer)
returns json
language plpgsql volatile security definer set search_path = ''
as $$
declare
  claimed json;
begin
  with taken as (
    update private.embedding_queue
    set
      attempts = attempts + 1,
      -- Whoever claimed it has half a minute; then it is due again, later each time.
      due_at = now() + interval '30 seconds' * 2 ^ attempts,
      model = wanted
    where (kind, id) in (
      select kind, id
      from private.embedding_queue
      where due_at <= now() and attempts < 8
      order by due_at
      limit most
      for update skip locked
    )
    returning kind, id
  )
  select coalesce(json_agg(taken), '[]') into claimed from taken;

  -- Hidden or gone since it was queued: nothing is to be done. By statements of their own, because one that updates a row cannot delete it,
  -- and has not seen what was shown again before it took the row; whoever shows it from here on waits for this, and queues it anew.
  delete from private.embedding_queue as job
  using json_to_recordset(claimed) as mine (kind text, id bigint)
  where job.kind = mine.kind and job.id = mine.id
    and not exists (select from private.search_entries where mine.kind = 'profile' and profile_id = mine.id)
    and not exists (select from private.search_contexts where mine.kind = 'context' and user_id = mine.id);

  return (
    select coalesce(
      json_agg(
        json_build_object(
          'kind', mine.kind,
          'id', mine.id,
          'text', case mine.kind when 'profile' then private.entry_text(mine.id) else private.context_text(mine.id) end,
          'content_hash', coalesce(entry.content_hash, context.content_hash)
        )
      ),
      '[]'
    )
    from json_to_recordset(claimed) as mine (kind text, id bigint)
    left join private.search_entries as entry on mine.kind = 'profile' and entry.profile_id = mine.id
    left join private.search_contexts as context on mine.kind = 'context' and context.user_id = mine.id
    where entry.profile_id is not null or context.user_id is not null
  );
end
$$;
comment on function private.claim_embeddings(text, integer) is
  'Takes up to so many due jobs for this model as [{kind, id, text, content_hash}]; two workers never get the same. Definer, because the
doors hold no right on the queue.';
