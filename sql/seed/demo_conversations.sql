-- Conversations, messages and reservations of the demo data. Two users can log in; their password is voyage-2026 (bcrypt,
-- cost 10). It is only for a demo on your own machine.
update auth.users
set encrypted_password = '$2b$10$1Oh/8CAvDsENkuRDLv03TuftclBs7gDNCOVPoWWKnf7WDIOHM6ldq'
where email in ('ines.carvalho@example.com', 'tomas.novak@example.com');

insert into auth.identities (
  id, provider, provider_id, user_id, identity_data, last_sign_in_at, created_at, updated_at
)
select
  gen_random_uuid(), 'email', id::text, id,
  jsonb_build_object('sub', id, 'email', email, 'email_verified', true, 'phone_verified', false),
  now(), created_at, created_at
from auth.users
where email in ('ines.carvalho@example.com', 'tomas.novak@example.com');

insert into public.conversations (voyager_id, local_id, created_at)
select voyager.id, local.id, date_trunc('day', now()) - opened.ago + opened.at
from (
  values
    (1, 'tomas.novak@example.com', 'ines.carvalho@example.com', interval '21 days', interval '09:10'),
    (2, 'callum.geddes@example.com', 'ines.carvalho@example.com', interval '60 days', interval '09:10'),
    (3, 'ines.carvalho@example.com', 'stavroula.mantzari@example.com', interval '34 days', interval '09:10'),
    (4, 'ines.carvalho@example.com', 'eufemia.lorenzo@example.com', interval '9 days', interval '09:10'),
    (5, 'tomas.novak@example.com', 'morag.sinclair@example.com', interval '45 days', interval '18:40'),
    (6, 'tomas.novak@example.com', 'daisuke.morimoto@example.com', interval '4 days', interval '09:10'),
    (7, 'tomas.novak@example.com', 'benoit.carlier@example.com', interval '3 days', interval '09:10'),
    (8, 'yasmin.akhtar@example.com', 'tomas.novak@example.com', interval '2 days', interval '09:10'),
    (9, 'nikos.petrakos@example.com', 'wilberth.canche@example.com', interval '80 days', interval '09:10'),
    (10, 'ximena.godinez@example.com', 'ayumi.terauchi@example.com', interval '15 days', interval '09:10'),
    (11, 'hodan.warsame@example.com', 'jose.villasenor@example.com', interval '28 days', interval '09:10'),
    (12, 'fergus.abernethy@example.com', 'haydee.sosnowski@example.com', interval '6 days', interval '09:10')
) as opened (number, voyager, local, ago, at)
join public.users as voyager on voyager.email = opened.voyager
join public.users as local on local.email = opened.local
order by opened.number;

insert into public.messages (conversation_id, user_id, content, read, created_at)
select
  conversations.id,
  case said.by when 'voyager' then conversations.voyager_id else conversations.local_id end,
  said.content,
  said.read,
  conversations.created_at + said.later
from (
  values
    (1, 'voyager', interval '0 minutes', true, 'Hello Inês! I am coming to Lisbon by train at the end of the month and somebody on the night train told me about your workshop. Do you really let people watch?'),
    (1, 'local', interval '38 minutes', true, 'Olá Tomáš! I do, on Tuesdays and Thursdays, as long as you do not mind dust. You may even scrape some mortar if you behave.'),
    (1, 'voyager', interval '51 minutes', true, 'I behave very well with a scraper. The last Thursday of my trip?'),
    (1, 'local', interval '70 minutes', true, 'Thursday it is. Come at nine, I make coffee. Number 14, blue door, the bell does not work so knock.'),
    (1, 'voyager', interval '75 minutes', true, 'Nine, blue door, knock. Should I bring anything?'),
    (1, 'local', interval '81 minutes', true, 'An apron if you own one. And an appetite: there is a tasca around the corner that does one dish a day and does it properly.'),
    (1, 'voyager', interval '1470 minutes', true, 'Small change: my train from Porto comes an hour later. Is ten still fine?'),
    (1, 'local', interval '1502 minutes', true, 'Ten is fine. The tiles have waited since 1780, they can wait an hour.'),
    (1, 'voyager', interval '1510 minutes', true, 'Thank you. See you at ten!'),
    (1, 'local', interval '28800 minutes', true, 'By the way, there is a jazz evening at a friend''s place on Thursday night, eight people and a piano. Shall I keep you a chair?'),
    (2, 'voyager', interval '0 minutes', true, 'Hi, is the tile workshop open next week? We would be four.'),
    (2, 'local', interval '200 minutes', true, 'Four is one too many for my bench, I am sorry. Two and two on different days would work.'),
    (2, 'voyager', interval '260 minutes', true, 'Two and two it is! In twelve days, and two days later?'),
    (2, 'local', interval '300 minutes', true, 'Booked. Tell the second pair that the first pair gets the good scrapers.'),
    (3, 'voyager', interval '0 minutes', true, 'Dear Stavroula, I restore tiles in Lisbon and I will be in Athens in the spring. Could you show me where you buy herbs? Your profile made me hungry.'),
    (3, 'local', interval '510 minutes', true, 'Dear Ines, come hungry and wear flat shoes. Tuesday is the good market day in my neighbourhood, people from the islands come with sacks.'),
    (3, 'voyager', interval '560 minutes', true, 'Then I will come on a Tuesday. I will bring you a tile.'),
    (4, 'voyager', interval '0 minutes', true, 'Hola Eufemia! Is there room in your kitchen in about three months?'),
    (4, 'local', interval '90 minutes', false, 'There is room on the Wednesday. Do you eat chapulines or should I hide them?'),
    (5, 'voyager', interval '0 minutes', true, 'Good evening! I am crossing Scotland by train and have one windy afternoon in Edinburgh. Is Leith worth it?'),
    (5, 'local', interval '65 minutes', true, 'Leith is worth a week, but an afternoon will do. Come to the shore at two and I will show you where the ferries used to turn.'),
    (5, 'voyager', interval '72 minutes', true, 'I will be the one with the big rucksack and the small umbrella.'),
    (5, 'local', interval '80 minutes', true, 'Leave the umbrella. It will not last.'),
    (5, 'voyager', interval '5800 minutes', true, 'You were right about the umbrella. Thank you for a lovely afternoon!'),
    (6, 'voyager', interval '0 minutes', true, 'Hello Daisuke, I land in Osaka in two weeks. Which street should I get lost in first?'),
    (6, 'local', interval '700 minutes', false, 'Any street with more bicycles than cars. But message me when you land, the first evening you should not choose alone.'),
    (6, 'local', interval '705 minutes', false, 'Do you eat everything?'),
    (7, 'voyager', interval '0 minutes', true, 'Bonjour Benoît! From Osaka I can be in Kyoto by noon. May I watch you prune?'),
    (7, 'local', interval '190 minutes', true, 'You may watch me sweep. My pruning is watched by my master already, from the roof.'),
    (8, 'voyager', interval '0 minutes', false, 'Hi Tomáš, saw you are in Leipzig. I have a long layover there on Sunday, is the old cotton mill open?'),
    (9, 'voyager', interval '0 minutes', true, 'Wilberth, a friend says you know every cenote that is not on a map. Any for a slow swimmer?'),
    (9, 'local', interval '40 minutes', true, 'Slow swimmers see more. There is one with a ladder and one without, which do you prefer?'),
    (9, 'voyager', interval '44 minutes', true, 'With, please.'),
    (9, 'local', interval '47 minutes', true, 'Wise man. Saturday morning, before the buses.'),
    (10, 'voyager', interval '0 minutes', true, 'Hola! I study ceramics and will be in Kyoto for ten days. Could I visit a kiln?'),
    (10, 'local', interval '1300 minutes', true, 'You could. The next firing is in a month; it starts at five in the morning and nobody talks much.'),
    (10, 'voyager', interval '1310 minutes', false, 'That sounds perfect.'),
    (11, 'voyager', interval '0 minutes', true, 'Pepe, they say you dance. Is there a beginners'' night?'),
    (11, 'local', interval '15 minutes', true, 'Every night is a beginners'' night if one smiles. Thursday at nine.'),
    (11, 'voyager', interval '18 minutes', true, 'I will smile.'),
    (12, 'voyager', interval '0 minutes', true, 'Señora, I am told you keep a library of tango records. I am 67, slow, and have a good ear.'),
    (12, 'local', interval '240 minutes', true, 'Mr Abernethy, slow is the right tempo. Come on Sunday after four; I will put the kettle on and the needle down.'),
    (12, 'voyager', interval '255 minutes', true, 'I shall be there at a quarter past.'),
    (12, 'local', interval '260 minutes', true, 'Bring a story about ships or about rain. We have neither in this building.')
) as said (number, by, later, read, content)
join (
  select row_number() over (order by id) as number, *
  from public.conversations
) as conversations using (number)
order by conversations.created_at + said.later;

-- What was offered and what became of it, at the time of the messages that speak of it. Where those name a day of the
-- week: the first such day from then on.
do $$
declare
  offer record;
  step record;
  made public.reservations;
begin
  for offer in
    select arranged.*, conversations.*, case side when 'voyager' then voyager_id else local_id end as by_id, begins_at
    from (
      values
        (1, 'voyager', interval '76 minutes', 'Morning in the tile workshop', 35.00, 5, 4, time '09:00', interval '3 hours'),
        (1, 'voyager', '28842 minutes', 'Jazz evening at Rui''s', 12.50, 5, 4, '20:30', null),
        (2, 'voyager', '262 minutes', 'Tile workshop for two, first pair', 60.00, -48, null, '09:30', '3 hours'),
        (2, 'voyager', '264 minutes', 'Tile workshop for two, second pair', 60.00, -46, null, '09:30', '3 hours'),
        (3, 'voyager', '562 minutes', 'Market and lunch with Stavroula', 25.00, 140, 2, '11:00', null),
        (4, 'local', '92 minutes', 'A day of mole', 48.00, 82, 3, '10:00', '8 hours'),
        (5, 'local', '67 minutes', 'Afternoon walk along the Leith shore', 0.00, -41, null, '14:00', null),
        (6, 'local', '706 minutes', 'First evening in Osaka', 30.00, 12, null, '18:00', null),
        (9, 'local', '48 minutes', 'Two quiet cenotes', 40.00, -76, 6, '08:00', '6 hours'),
        (10, 'voyager', '1312 minutes', 'Watching a firing', 20.00, 16, null, '05:00', '2 hours'),
        (11, 'local', '16 minutes', 'Thursday dance night', 8.00, -26, 4, '21:00', null),
        (11, 'voyager', '4 days', 'Second Thursday', 8.00, -19, 4, '21:00', null),
        (12, 'local', '245 minutes', 'Tango records and tea', 0.00, 6, 7, '16:15', null)
    ) as arranged (number, side, later, title, price, days_ahead, isodow, clock_time, lasts)
    join (
      select row_number() over (order by id) as number, *
      from public.conversations
    ) as conversations using (number)
    cross join lateral (select current_date + days_ahead as day) as earliest
    cross join lateral (
      select (day + (coalesce(isodow - extract(isodow from day), 0)::integer + 7) % 7 + clock_time)::timestamptz
    ) as begins (begins_at)
    order by arranged.number, begins_at desc
  loop
    perform set_config(
      'api.reservation_step',
      jsonb_build_object('by_id', offer.by_id, 'moment', offer.created_at + offer.later)::text,
      true
    );
    insert into public.reservations (conversation_id, title, price, date, ends_at, offered_by, created_at)
    values (
      offer.id, offer.title, offer.price, offer.begins_at, offer.begins_at + offer.lasts, offer.by_id,
      offer.created_at + offer.later
    )
    returning * into made;
    for step in
      select *
      from (
        values
          ('Morning in the tile workshop', 'voyager', interval '1471 minutes', 'pending', interval '1 hour', null),
          ('Morning in the tile workshop', 'local', '1503 minutes', 'accepted', '0', null),
          ('Tile workshop for two, first pair', 'local', '301 minutes', 'accepted', '0', null),
          ('Tile workshop for two, second pair', 'local', '302 minutes', 'accepted', '0', null),
          ('Tile workshop for two, second pair', 'voyager', '13 days', 'cancelled', '0', 'They have missed the ferry, I am so sorry.'),
          ('Market and lunch with Stavroula', 'local', '580 minutes', 'accepted', '0', null),
          ('Afternoon walk along the Leith shore', 'voyager', '71 minutes', 'accepted', '0', null),
          ('Two quiet cenotes', 'voyager', '50 minutes', 'accepted', '0', null),
          ('Watching a firing', 'local', '1330 minutes', 'accepted', '0', null),
          ('Thursday dance night', 'voyager', '17 minutes', 'accepted', '0', null),
          ('Second Thursday', 'local', '5 days', 'declined', '0', 'There is a wedding in the hall.'),
          ('Tango records and tea', 'voyager', '254 minutes', 'accepted', '0', null)
      ) as taken (title, side, later, status, moved, note)
      where taken.title = offer.title
      order by later
    loop
      made.status := step.status;
      made.date := made.date + step.moved;
      made.ends_at := made.ends_at + step.moved;
      made := private.write_reservation(
        made,
        by_id => case step.side when 'voyager' then offer.voyager_id else offer.local_id end,
        note => step.note, moment => offer.created_at + step.later
      );
    end loop;
    -- What is over has taken place.
    perform set_config('api.reservation_step', '', true);
    perform private.settle_reservations();
  end loop;
end
$$;

-- Nobody is mailed today of what was weeks ago.
delete from private.outbox
using public.reservation_history as steps
where event = 'reservation.changed' and subject_id = steps.id and steps.created_at < now() - interval '14 days';
