-- What may be shown as a picture, or linked to from a message, whoever writes it: an https address that cannot break out of what it is put into.
select plan(64);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_history('ana', 'ben');

create temp table addresses (address text, good boolean);
insert into addresses
select address, true
from unnest(array[
  'https://images.example/ana.jpg', 'https://images.example', 'https://images.example/', 'https://images.example:8443/a.png',
  'https://192.0.2.1/a.png', 'https://[2001:db8::1]:443/a.png', 'https://größe.example/größe.png', 'https://例え.テスト/画像.png',
  'https://images.example/a%20b.pdf?x=1&y=[2]{3}#top', 'https://images.example?size=2', 'https://images.example#top',
  'https://images.example/a;b,c=d$e!f*g(h)~i+j@k:l|m^n', 'https://a_b-c.example/😀.png', 'https://localhost/a.png'
]) as address;
insert into addresses
select address, false
from unnest(array[
  '', 'https://', 'https:///a.png', 'https:/images.example/a.png', 'http://images.example/a.png', 'javascript:alert(1)',
  'https://x"onerror=alert(1)', 'https://images.example/"onerror=alert(1) x="', 'https://images.example/''onerror=''', 'https://images.example/`x`',
  'https://images.example/<script>', 'https://images.example/>', 'https://images.example/a b.png', 'https://images.example/a\b.png',
  'https://images.example\@elsewhere.example/', 'https://user@images.example/', 'https://user:secret@images.example/', 'https://:80@images.example/',
  'https://images.example:/a.png', 'https://images.example:port/a.png', 'https://images.example:123456/a.png', 'https://im%61ges.example/',
  'https://[images.example]/', 'https://[::1/a.png', 'https://?x', 'https://#x', ' https://images.example/', 'https://images.example/ ',
  E'https://images.example/\n', E'https://images.example/\u0001', E'https://images.example/\u007f', E'https://images.example/\u0085',
  E'https://images.example/\u00a0', E'https://images.example/\u00ad', E'https://images.example/\u200b', E'https://images.example/\u202e',
  E'https://images.example/\u2028', E'https://images.example/\u2066', E'https://images.example/\u3000', E'https://images.example/\ufeff',
  E'https://im\u200bages.example/'
]) as address;
grant select on addresses to public;

select is(
  private.is_web_address(address), good, format('%s %s an address', to_json(address), case when good then 'is' else 'is not' end)
)
from addresses;

-- Whoever writes.
create function pg_temp.tried(statement text)
returns text
language plpgsql
as $$
begin
  execute statement;
  raise sqlstate 'TRIED';
exception
  when sqlstate 'TRIED' then return 'taken';
  when check_violation then return 'refused';
end
$$;
grant execute on all functions in schema pg_temp to public;
select tests.become('ana');
select is(
  array(
    select address from addresses
    where pg_temp.tried(format('update public.profiles set image_url = %L', address)) <> case when good then 'taken' else 'refused' end
  ),
  '{}',
  'ana''s picture may have just these, by whatever way she writes it'
);
select tests.become_role('service_role');
select is(
  array(
    select address from addresses
    where pg_temp.tried(format('update public.profiles set image_url = %L where user_id = %s', address, tests.id_of('ana')))
      <> case when good then 'taken' else 'refused' end
  ),
  '{}',
  'an admin may write no others'
);
create function pg_temp.attachment(address text)
returns jsonb
language sql
as $$ select jsonb_build_object('url', address, 'name', 'a', 'mime_type', 'image/png', 'size', 1) $$;
select is(
  array(
    select address from addresses
    where address ~ '^https:' and pg_temp.tried(format('update public.messages set attachment = %L', pg_temp.attachment(address)))
      <> case when good then 'taken' else 'refused' end
  ),
  '{}',
  'nor may an attachment be at another'
);
select is(pg_temp.tried(format('update public.messages set attachment = %L', pg_temp.attachment('HTTPS://images.example/a.png'))), 'taken', 'in whatever case https is written');
select is(pg_temp.tried(format('update public.messages set attachment = %L', pg_temp.attachment('HTTPS://x"onerror=alert(1)'))), 'refused', 'which lets nothing else through');
select is(pg_temp.tried(format('update public.messages set attachment = %L', pg_temp.attachment('7/it''s (1).png'))), 'taken', 'and a path in the bucket is what Storage takes');
select tests.become_owner();
select is(private.is_web_address(null), null, 'no address is no address');
select is(
  (select proconfig from pg_proc where oid = 'private.is_web_address(text)'::regprocedure), array['search_path=""'],
  'and what it means depends on nobody''s settings'
);
select is_empty($$ select from public.profiles where not private.is_web_address(image_url) $$, 'nothing was left behind');
