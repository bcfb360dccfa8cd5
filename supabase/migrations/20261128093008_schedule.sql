set local lock_timeout = '500ms';
select '[1]'::extensions.vector;

SET local check_function_bodies = off;

DROP TRIGGER "handle_changed_conversation" ON "public"."conversations";

DROP FUNCTION "private"."handle_changed_conversation"();

CREATE OR REPLACE FUNCTION private.call_edge_function (
  function_name text,
  calls         bigint
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  url constant text := (select decrypted_secret from vault.decrypted_secrets where name = 'project_url');
  key constant text := (select decrypted_secret from vault.decrypted_secrets where name = 'secret_key');
begin
  if url is null or key is null then
    raise 'Vault has no secret project_url, or no secret_key (docs/deploy.md, The schedule)';
  end if;
  perform net.http_post(
    url => url || '/functions/v1/' || function_name,
    headers => jsonb_build_object('Content-Type', 'application/json', 'apikey', key),
    body => '{}'::jsonb,
    timeout_milliseconds => 30000
  )
  from generate_series(1, calls);
end
$function$;

CREATE OR REPLACE FUNCTION private.handle_conversation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  if tg_op = 'INSERT' then
    insert into private.inbox_entries (conversation_id, user_id, active_at)
    values (new.id, new.voyager_id, new.created_at), (new.id, new.local_id, new.created_at);
    return null;
  end if;
  perform private.refresh_entries(new.id);
  if (new.voyager_id, new.local_id) <> (old.voyager_id, old.local_id) then
    if exists (
      select from public.messages where conversation_id = new.id and user_id not in (new.voyager_id, new.local_id)
      union all
      select
      from public.reservations
      where conversation_id = new.id
        and (host_id not in (new.voyager_id, new.local_id) or offered_by not in (new.voyager_id, new.local_id))
    ) then
      raise check_violation using
        message = 'a message or reservation would be without its participant',
        constraint = 'whoever has written or agreed must stay a participant';
    end if;
    -- The row of whoever leaves goes to whoever comes, with its count, so that who marks messages as read meanwhile
    -- finds it. A count of what this transaction sees would miss that.
    update private.inbox_entries as entries
    set
      user_id = coalesce(newcomer, entries.user_id),
      has_written = newcomer is null and has_written,
      archived_id = null,
      is_pinned = newcomer is null and is_pinned,
      muted_until = case when newcomer is null then muted_until end
    from unnest(array[old.voyager_id, old.local_id]) as participant
    cross join lateral (
      select case
        when participant in (new.voyager_id, new.local_id) then null
        when new.voyager_id in (old.voyager_id, old.local_id) then new.local_id
        when new.local_id in (old.voyager_id, old.local_id) then new.voyager_id
        when participant = old.voyager_id then new.voyager_id
        else new.local_id
      end as newcomer
    ) as change
    where entries.conversation_id = new.id and entries.user_id = participant;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.list_jobs()
  RETURNS TABLE (
    name     text,
    schedule text,
    command  text
  )
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  values
    ('settle reservations', '10 seconds', 'select private.settle_reservations()'),
    -- A changed profile is embedded right after the change. This embeds what failed then, and a backlog.
    ('drain the embedding queue', '10 seconds', $job$
      select private.call_edge_function('embed', calls => (count(*) + 4) / 5)
      from (select from private.embedding_queue where due_at <= now() and attempts < 8 limit 50) as due
    $job$),
    ('send notifications', '10 seconds', $job$
      select private.call_edge_function('notify', calls => (count(*) + 49) / 50)
      from (
        select
        from private.outbox
        where channel in ('person', 'push', 'mail', 'webhook') and due_at <= now() and attempts < 8
        limit 200
      ) as due
    $job$),
    ('count words', '37 * * * *', 'select private.count_words()'),
    ('forget dead letters', '23 3 * * *', 'select private.forget_dead_letters()'),
    ('forget old changes', '47 3 * * *', 'select private.forget_changes()'),
    ('purge evidence', '29 3 * * *', 'select private.purge_evidence()'),
    ('forget old runs', '17 3 * * *', $job$
      delete from cron.job_run_details where end_time < now() - interval '3 days'
    $job$)
$function$;

CREATE OR REPLACE FUNCTION private.record_conversation()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
  select concerned.voyager_id, concerned.local_id, 'conversation', concerned.id, concerned.id
  from (
    select old.voyager_id, old.local_id, old.id
    union
    select new.voyager_id, new.local_id, new.id
  ) as concerned (voyager_id, local_id, id)
  where concerned.id is not null;
  if tg_op = 'INSERT' then
    perform private.notify(event => 'conversation.created', conversation => new.id, subject => new.id);
    perform private.broadcast_to_users(
      event => 'conversation.created', conversation => new.id, id => new.id, previous_id => null,
      user_id => new.voyager_id, one => new.voyager_id, other => new.local_id
    );
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.schedule_jobs()
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  begin
    create extension if not exists pg_cron with schema pg_catalog;
  exception
    -- There is none, the server has not loaded it, or it is for another database.
    when feature_not_supported or undefined_file or undefined_object or raise_exception then
      return;
  end;
  -- In public the Data API would show it, and the advisors warn.
  create extension if not exists pg_net with schema extensions;
  perform cron.schedule(name, schedule, command) from private.list_jobs();
end
$function$;

CREATE TRIGGER handle_conversation
  AFTER INSERT OR UPDATE OF voyager_id, local_id, created_at ON public.conversations
  FOR EACH ROW
  EXECUTE FUNCTION private.handle_conversation();

COMMENT ON FUNCTION "private"."call_edge_function"(text, bigint) IS 'Calls an Edge Function that often, after the commit, with the secret key that Vault keeps.';

COMMENT ON FUNCTION "private"."handle_conversation"() IS 'A conversation was opened, which puts it into both inboxes; or an admin changed its participants or its time. Refuses
to take away somebody whose message or reservation is in it: others would read it as somebody else''s. Definer, because
nobody has a grant on inbox_entries.';

COMMENT ON FUNCTION "private"."list_jobs"() IS 'The jobs, each with its time as pg_cron reads it. One machine runs those that call one function of schema private.';

COMMENT ON FUNCTION "private"."record_conversation"() IS 'A conversation was opened: user_id of the event is the voyager, who opened it; or changed or removed by an admin.
Whoever took part in it before is told too. Definer, because nobody has a grant on the log.';

COMMENT ON FUNCTION "private"."schedule_jobs"() IS 'Gives all jobs to pg_cron, which replaces those that it has by name; nothing on a server without it. Each migration
ends with it, since a comparison of schemas does not see the rows of cron.job.';

REVOKE ALL ON FUNCTION "private"."call_edge_function"(text, bigint) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."call_edge_function"(text, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."handle_conversation"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."handle_conversation"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."list_jobs"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."list_jobs"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."schedule_jobs"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."schedule_jobs"() TO "postgres";

select private.schedule_jobs();
