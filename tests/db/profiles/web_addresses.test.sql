-- Pictures and attachments can only have an https address that is safe in HTML, whoever writes it.
select plan(66);
select tests.make_person(name) from unnest(array['ana', 'ben']) as name;
select tests.make_history('ana', 'ben');

create temp table addresses (address text, is_valid boolean);
insert into addresses
select address, true
from unnest(array[
  'https://images.example/ana.jpg', 'https://images.example', 'https://images.example/',
  'https://images.example:8443/a.png', 'https://192.0.2.1/a.png', 'https://[2001:db8::1]:443/a.png',
  'https://größe.example/größe.png', 'https://例え.テスト/画像.png', 'https://images.example/a%20b.pdf?x=1&y=[2]{3}#top',
  'https://images.example?size=2', 'https://images.example#top', 'https://images.example/a;b,c=d$e!f*g(h)~i+j@k:l|m^n',
  'https://a_b-c.example/😀.png', 'https://localhost/a.png'
]) as address;
insert into addresses
select address, false
from unnest(array[
  '', '//images.example/ana.jpg', 'see https://images.example/ana.jpg', 'https://', 'https:///a.png',
  'https:/images.example/a.png', 'http://images.example/a.png', 'javascript:alert(1)', 'https://x"onerror=alert(1)',
  'https://images.example/"onerror=alert(1) x="', 'https://images.example/''onerror=''', 'https://images.example/`x`',
  'https://images.example/<script>', 'https://images.example/>', 'https://images.example/a b.png',
  'https://images.example/a\b.png', 'https://images.example\@elsewhere.example/', 'https://user@images.example/',
  'https://user:secret@images.example/', 'https://:80@images.example/', 'https://images.example:/a.png',
  'https://images.example:port/a.png', 'https://images.example:123456/a.png', 'https://im%61ges.example/',
  'https://[images.example]/', 'https://[::1/a.png', 'https://?x', 'https://#x', ' https://images.example/',
  'https://images.example/ ', E'https://images.example/\n', E'https://images.example/\u0001',
  E'https://images.example/\u007f', E'https://images.example/\u0085', E'https://images.example/\u00a0',
  E'https://images.example/\u00ad', E'https://images.example/\u200b', E'https://images.example/\u202e',
  E'https://images.example/\u2028', E'https://images.example/\u2066', E'https://images.example/\u3000',
  E'https://images.example/\ufeff', E'https://im\u200bages.example/'
]) as address;
grant select on addresses to public;

select is(
  private.is_web_address(address), is_valid,
  format('%s is %s', to_json(address), case when is_valid then 'valid' else 'invalid' end)
)
from addresses;

-- The constraints, for every writer
create function pg_temp.outcome(statement text)
returns text
language plpgsql
as $$
begin
  execute statement;
  raise sqlstate 'TRIED';
exception
  when sqlstate 'TRIED' then return 'accepted';
  when check_violation then return 'refused';
end
$$;
grant execute on all functions in schema pg_temp to public;
select tests.become('ana');
select is(
  array(
    select address from addresses
    where pg_temp.outcome(format('update public.profiles set image_url = %L', address))
      <> case when is_valid then 'accepted' else 'refused' end
  ),
  '{}',
  'ana can set exactly the valid addresses as her picture'
);
select tests.become_role('service_role');
select is(
  array(
    select address from addresses
    where pg_temp.outcome(
      format('update public.profiles set image_url = %L where user_id = %s', address, tests.id_of('ana'))
    )
      <> case when is_valid then 'accepted' else 'refused' end
  ),
  '{}',
  'an admin can set exactly the valid addresses as a picture'
);
create function pg_temp.attachment(address text)
returns jsonb
language sql
as $$ select jsonb_build_object('url', address, 'name', 'a', 'mime_type', 'image/png', 'size', 1) $$;
select is(
  array(
    select address from addresses
    where address ~ '^https:'
      and pg_temp.outcome(format('update public.messages set attachment = %L', pg_temp.attachment(address)))
      <> case when is_valid then 'accepted' else 'refused' end
  ),
  '{}',
  'an attachment can have exactly the valid addresses'
);
select is(
  pg_temp.outcome(format('update public.messages set attachment = %L', pg_temp.attachment(address))), outcome, title
)
from (
  values
    ('HTTPS://images.example/a.png', 'accepted', 'https can be in any case'),
    ('HTTPS://x"onerror=alert(1)', 'refused', 'an invalid address is refused whatever the case of https'),
    ('7/it''s (1).png', 'accepted', 'a path in the bucket can have any character')
) as attachments (address, outcome, title);
select tests.become_owner();
select is(private.is_web_address(null), null, 'null gives null');
select is(
  (select proconfig from pg_proc where oid = 'private.is_web_address(text)'::regprocedure), array['search_path=""'],
  'the function does not depend on the caller''s search_path'
);
select is_empty(
  $$ select from public.profiles where not private.is_web_address(image_url) $$,
  'no stored picture has an invalid address'
);
