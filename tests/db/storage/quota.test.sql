-- How many files a user can upload to a conversation, and that blocked users cannot upload.
select plan(15);
-- As Storage does.
set local storage.operation = 'storage.object.upload';
set local storage.allow_delete_query = 'true';
select tests.make_person(name) from unnest(array['ana', 'ben', 'cat']) as name;
select tests.make_history('ana', 'ben');
insert into public.conversations (voyager_id, local_id) values (tests.id_of('ana'), tests.id_of('cat'));

create function pg_temp.account_of(person text)
returns text
language sql security definer
as $$ select auth_id::text from public.users where id = tests.id_of(person) $$;
create function pg_temp.folder(other text)
returns text
language sql security definer
as $$ select id::text from public.conversations where local_id = tests.id_of(other) $$;
-- Inserts one more file as Storage does, which sets the size only after the upload.
create function pg_temp.upload(person text, folder text)
returns text
language plpgsql
as $$
begin
  perform tests.become(person);
  insert into storage.objects (bucket_id, name, owner_id)
  values ('attachments', format('%s/%s/a.png', folder, gen_random_uuid()), pg_temp.account_of(person));
  perform tests.become_owner();
  return 'can';
exception
  when insufficient_privilege then
    return 'cannot';
end
$$;
-- Replaces all files by some of one user.
create function pg_temp.have(person text, folder text, files integer, size text)
returns void
language sql security definer
as $$
  delete from storage.objects;
  insert into storage.objects (bucket_id, name, owner_id, metadata)
  select
    'attachments', format('%s/%s/a.png', folder, gen_random_uuid()), pg_temp.account_of(person),
    jsonb_build_object('size', size::bigint)
  from generate_series(1, files)
$$;

grant execute on all functions in schema pg_temp to public;

select pg_temp.have(person => 'ana', folder => pg_temp.folder('ben'), files => 199, size => '1');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'can', 'ana can upload a 200th file to a conversation');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'cannot', 'ana cannot upload a 201st');
select is(pg_temp.upload('ben', pg_temp.folder('ben')), 'can', 'ben can upload: the limit is for each user');
select is(pg_temp.upload('ana', pg_temp.folder('cat')), 'can', 'ana can upload to another conversation');
select pg_temp.have(person => 'ana', folder => pg_temp.folder('ben') || '0', files => 200, size => '1');
select is(
  pg_temp.upload('ana', pg_temp.folder('ben')), 'can',
  'files of a conversation whose id begins with the same digits do not count'
);

select pg_temp.have(person => 'ana', folder => pg_temp.folder('ben'), files => 50, size => '10485760');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'cannot', 'with 500 MiB ana cannot upload');
select pg_temp.have(person => 'ana', folder => pg_temp.folder('ben'), files => 50, size => '10485759');
select is(pg_temp.upload('ana', pg_temp.folder('ben')), 'can', 'below 500 MiB ana can upload');
select pg_temp.have(person => 'ana', folder => pg_temp.folder('ben'), files => 1, size => null);
select is(
  pg_temp.upload('ana', pg_temp.folder('ben')), 'can', 'a file of unknown size does not count towards the 500 MiB'
);

insert into private.blocks (blocker_id, blocked_id) values (tests.id_of('ana'), tests.id_of('ben'));
select is(
  pg_temp.upload(person, pg_temp.folder('ben')), 'cannot',
  format('after ana has blocked ben, %s cannot upload to their conversation', person)
)
from unnest(array['ana', 'ben']) as person;
select is(pg_temp.upload('cat', pg_temp.folder('cat')), 'can', 'cat can upload to hers');
select tests.become('ben');
select isnt_empty(
  $$ select from storage.objects where bucket_id = 'attachments' $$, 'ben can still read the earlier files'
);
select tests.become_owner();
delete from private.blocks;
select is(pg_temp.upload('ben', pg_temp.folder('ben')), 'can', 'after ana has unblocked ben, he can upload');
select private.erase_person(tests.id_of('cat'));
select is(
  pg_temp.upload('ana', pg_temp.folder('cat')), 'cannot', 'ana cannot upload to a conversation with an erased user'
);
select is(pg_temp.upload('ana', null), 'cannot', 'ana cannot upload without a folder');
