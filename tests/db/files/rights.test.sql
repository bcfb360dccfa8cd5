-- Who may do what with files: the people of a conversation with its attachments, everybody with their own avatar, nobody with the rest.
select plan(43);
select tests.make_person('ana');
select tests.make_person('ben');
select tests.make_person('cat');
select tests.make_history('ana', 'ben');

create function pg_temp.account_of(person text)
returns text
language sql security definer
as $$ select auth_id::text from public.users where id = tests.id_of(person) $$;

-- Paths: {own} is ana's conversation with ben, {ana} and {ben} are their Auth accounts.
create function pg_temp.path(pattern text)
returns text
language sql security definer
as $$
  select replace(replace(replace(
    pattern, '{own}', tests.conversation_of('ana')::text), '{ana}', pg_temp.account_of('ana')), '{ben}', pg_temp.account_of('ben'))
$$;

insert into storage.objects (bucket_id, name, owner_id, metadata)
values
  (
    'attachments', pg_temp.path('{own}/00000000-0000-4000-8000-000000000001/map.png'), pg_temp.account_of('ana'),
    '{"mimetype": "image/png", "size": 2048}'
  ),
  ('avatars', pg_temp.path('{ana}/me.png'), pg_temp.account_of('ana'), '{"mimetype": "image/png", "size": 2048}');

create function pg_temp.tried(person text, statement text)
returns text
language plpgsql
as $$
declare
  reached bigint;
begin
  perform tests.become(person);
  execute statement;
  get diagnostics reached = row_count;
  perform tests.become_owner();
  return case when reached > 0 then 'can' else 'cannot' end;
exception
  when insufficient_privilege then
    return 'cannot';
end
$$;

-- Buckets that somebody makes in the dashboard are none of these policies' business, whatever their folders are called.
insert into storage.buckets (id, name) values ('elsewhere', 'elsewhere');
insert into storage.objects (bucket_id, name)
values ('elsewhere', pg_temp.path('{own}/map.png')), ('elsewhere', pg_temp.path('{ana}/me.png'));
select is(pg_temp.tried('ana', $$ select from storage.objects where bucket_id = 'elsewhere' $$), 'cannot', 'ana reads nothing elsewhere');
-- Without a condition, Postgres does not ask who may read the rows.
select is(pg_temp.tried('ben', 'delete from storage.objects'), 'cannot', 'ben removes nothing at all, because he has no avatar');

select is(
  pg_temp.tried(person, statement), outcome, format('%s %s %s', coalesce(person, 'somebody anonymous'), outcome, what)
)
from (
  values
    ('ana', 'read a file of her conversation', $$ select from storage.objects where bucket_id = 'attachments' $$, 'can'),
    ('ben', 'read it, too', $$ select from storage.objects where bucket_id = 'attachments' $$, 'can'),
    ('cat', 'read it', $$ select from storage.objects where bucket_id = 'attachments' $$, 'cannot'),
    (null, 'read it', $$ select from storage.objects where bucket_id = 'attachments' $$, 'cannot'),
    ('ana', 'change it', $$ update storage.objects set name = 'x' where bucket_id = 'attachments' $$, 'cannot'),
    ('ana', 'remove it', $$ delete from storage.objects where bucket_id = 'attachments' $$, 'cannot'),
    ('ben', 'remove it', $$ delete from storage.objects where bucket_id = 'attachments' $$, 'cannot'),
    ('ana', 'list her avatar', $$ select from storage.objects where bucket_id = 'avatars' $$, 'can'),
    ('ben', 'list the avatars of others', $$ select from storage.objects where bucket_id = 'avatars' $$, 'cannot'),
    ('ana', 'change her avatar in place', $$ update storage.objects set name = 'x' where bucket_id = 'avatars' $$, 'cannot'),
    ('ben', 'remove the avatar of ana', $$ delete from storage.objects where bucket_id = 'avatars' $$, 'cannot'),
    (null, 'remove it', $$ delete from storage.objects where bucket_id = 'avatars' $$, 'cannot'),
    ('ana', 'remove her avatar', $$ delete from storage.objects where bucket_id = 'avatars' $$, 'can')
) as attempts (person, what, statement, outcome);

select is(
  pg_temp.tried(
    person,
    format(
      'insert into storage.objects (bucket_id, name, owner_id) values (%L, %L, %L)',
      bucket, pg_temp.path(pattern), pg_temp.account_of(coalesce(owner, person))
    )
  ),
  outcome,
  format('%s %s put %s into %s%s', coalesce(person, 'somebody anonymous'), outcome, pattern, bucket, ' in the name of ' || owner)
)
from (
  values
    ('ana', 'attachments', '{own}/00000000-0000-4000-8000-00000000000a/a b.png', null, 'can'),
    ('ben', 'attachments', '{own}/00000000-0000-4000-8000-00000000000b/b.pdf', null, 'can'),
    ('cat', 'attachments', '{own}/00000000-0000-4000-8000-00000000000c/c.png', null, 'cannot'),
    (null, 'attachments', '{own}/00000000-0000-4000-8000-00000000000d/d.png', 'ana', 'cannot'),
    ('ana', 'attachments', '{own}/00000000-0000-4000-8000-00000000000e/e.png', 'ben', 'cannot'),
    ('ana', 'attachments', '999999999/00000000-0000-4000-8000-00000000000f/f.png', null, 'cannot'),
    ('ana', 'attachments', '{own}/g.png', null, 'cannot'),
    ('ana', 'attachments', '{own}/map/g.png', null, 'cannot'),
    ('ana', 'attachments', '{own}/00000000-0000-4000-8000-00000000000f/x/g.png', null, 'cannot'),
    ('ana', 'attachments', 'g.png', null, 'cannot'),
    ('ana', 'avatars', '{ana}/new.png', null, 'can'),
    ('ana', 'avatars', '{ben}/new.png', null, 'cannot'),
    ('ana', 'avatars', '{ana}/deep/new.png', null, 'cannot'),
    ('ana', 'avatars', 'new.png', null, 'cannot'),
    (null, 'avatars', '{ana}/other.png', 'ana', 'cannot'),
    ('ana', 'elsewhere', '{ana}/new.png', null, 'cannot'),
    ('ana', 'elsewhere', '{own}/00000000-0000-4000-8000-000000000003/map.png', 'ana', 'cannot')
) as attempts (person, bucket, pattern, owner, outcome);

select set_eq(
  $$ select id, public, file_size_limit from storage.buckets where id <> 'elsewhere' $$,
  $$ values ('attachments', false, 10485760::bigint), ('avatars', true, 2097152) $$,
  'attachments are private and avatars public, of 10 and of 2 MiB at most'
);
select is_empty(
  $$
    select id, type
    from storage.buckets
    left join unnest(allowed_mime_types) as type on true
    where id <> 'elsewhere' and (type is null or type ~ '(html|svg|xml|javascript|\*)')
  $$,
  'neither takes every type, or one that a browser would run'
);

select is(tests.ask('ana', 'list_avatars()'), jsonb_build_array(pg_temp.path('{ana}/new.png')), 'ana is told of her avatar, to take it along');
select tests.become_owner();
select is(tests.ask('ben', 'list_avatars()'), '[]', 'ben is told of none but his own');
select tests.become_owner();
insert into storage.objects (bucket_id, name, owner_id)
select 'avatars', pg_temp.path(format('{ben}/%s.png', number)), pg_temp.account_of('ben')
from generate_series(1, 1001) as number;
create temp table others as
select bucket_id, name
from storage.objects
where bucket_id <> 'avatars' or name not like pg_temp.account_of('ana') || '/%';
select is(pg_temp.tried('ana', 'delete from storage.objects'), 'can', 'ana removes whatever she can reach');
select set_eq('select bucket_id, name from storage.objects', 'select bucket_id, name from others', 'which was her avatar');
select is(jsonb_array_length(tests.ask('ben', 'list_avatars()')), 1000, 'and not of more than Storage removes at a time');
select tests.become_owner();

select set_eq(
  $$ select policyname::text, cmd, roles::text from pg_policies where schemaname = 'storage' $$,
  $$
    values
      ('participants read the files of their conversations', 'SELECT', '{authenticated}'),
      ('participants upload files to their conversations', 'INSERT', '{authenticated}'),
      ('users list their own avatars', 'SELECT', '{authenticated}'),
      ('users add their own avatars', 'INSERT', '{authenticated}'),
      ('users remove their own avatars', 'DELETE', '{authenticated}')
  $$,
  'these are all the policies there are on files'
);

update public.users
set is_active = false
where id = tests.id_of('ana');
select is(
  pg_temp.tried('ana', $$ select from storage.objects where bucket_id = 'attachments' $$),
  'cannot',
  'who is deactivated cannot read files'
);
select is(
  pg_temp.tried(
    'ana',
    format(
      'insert into storage.objects (bucket_id, name, owner_id) values (%L, %L, %L)',
      'avatars', pg_temp.path('{ana}/late.png'), pg_temp.account_of('ana')
    )
  ),
  'cannot',
  'nor put an avatar'
);
select throws_ok($$ select tests.ask('ana', 'list_avatars()') $$, 'PT403', null, 'nor list them through the door');
