set local lock_timeout = '500ms';
select '[1]'::extensions.vector;

SET local check_function_bodies = off;

ALTER TABLE "private"."outbox"
  ADD COLUMN "request_id" text;

CREATE OR REPLACE FUNCTION private.claim_webhooks (
  max_rows integer
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  ids constant bigint[] := private.claim_rows('webhook', max_rows, '[]', private.present());
begin
  delete from private.outbox where id = any (ids) and private.webhook_data(outbox) is null;
  return (
    select coalesce(
      json_agg(
        json_build_object(
          'id', id, 'key', key, 'type', event, 'timestamp', private.iso(created_at),
          'data', private.webhook_data(outbox), 'request_id', request_id
        )
        order by id
      ),
      '[]'
    )
    from private.outbox
    where id = any (ids)
  );
end
$function$;

CREATE OR REPLACE FUNCTION private.notify (
  event        text,
  conversation bigint,
  subject      bigint,
  by_id        bigint   DEFAULT NULL::bigint,
  people       bigint[] DEFAULT '{}'::bigint[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  delay integer;
  to_webhook boolean;
  person bigint;
begin
  select delay_seconds, webhooks into delay, to_webhook from private.outbox_settings;
  foreach person in array people loop
    insert into private.outbox (channel, event, conversation_id, subject_id, user_id, due_at)
    values (
      'person', notify.event, conversation, subject, person,
      private.present() + interval '1 second' * coalesce(
        60 * (select delay_minutes from private.notification_settings where user_id = person), delay
      )
    );
  end loop;
  if to_webhook then
    insert into private.outbox (channel, event, conversation_id, subject_id, due_at, request_id)
    values (
      'webhook', notify.event, conversation, subject, private.present(),
      nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'request_id'
    );
  end if;
  -- Whoever did it is here again, which ends a silence.
  delete from private.silences where user_id = by_id;
end
$function$;

COMMENT ON COLUMN "private"."outbox"."request_id" IS 'Of a webhook: the request that caused it, as the log has it; null after an admin or the clock.';

COMMENT ON FUNCTION "private"."claim_webhooks"(integer) IS 'Claims up to max_rows due webhooks as [{id, key, type, timestamp, data, request_id}], of each conversation the
first. Definer, because edge_functions has no rights on the outbox.';

select private.schedule_jobs();
