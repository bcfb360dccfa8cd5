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
    (1, 'local', interval '28800 minutes', false, 'By the way, there is a jazz evening at a friend''s place on Thursday night, eight people and a piano. Shall I keep you a chair?'),
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

insert into public.reservations (conversation_id, title, price, date, ends_at, status, offered_by)
select
  conversations.id, arranged.title, arranged.price, begins.at, begins.at + arranged.lasts, arranged.status,
  conversations.voyager_id
from (
  values
    (1, 'Morning in the tile workshop', 35.00, 5, 4, time '10:00', interval '3 hours', 'accepted'),
    (1, 'Jazz evening at Rui''s', 12.50, 5, 4, '20:30', null, 'pending'),
    (2, 'Tile workshop for two, first pair', 60.00, -48, null, '09:30', interval '3 hours', 'completed'),
    (2, 'Tile workshop for two, second pair', 60.00, -46, null, '09:30', interval '3 hours', 'cancelled'),
    (3, 'Market and lunch with Stavroula', 25.00, 140, 2, '11:00', null, 'accepted'),
    (4, 'A day of mole', 48.00, 82, 3, '10:00', interval '8 hours', 'declined'),
    (5, 'Afternoon walk along the Leith shore', 0.00, -41, null, '14:00', null, 'completed'),
    (6, 'First evening in Osaka', 30.00, 12, null, '18:00', null, 'pending'),
    (9, 'Two quiet cenotes', 40.00, -76, 6, '08:00', interval '6 hours', 'completed'),
    (10, 'Watching a firing', 20.00, 16, null, '05:00', interval '2 hours', 'accepted'),
    (11, 'Thursday dance night', 8.00, -26, 4, '21:00', null, 'completed'),
    (11, 'Second Thursday', 8.00, -19, 4, '21:00', null, 'cancelled'),
    (12, 'Tango records and tea', 0.00, 6, 7, '16:15', null, 'accepted')
) as arranged (number, title, price, days_ahead, isodow, clock_time, lasts, status)
-- Where the messages name a day of the week: the first such day from then on.
cross join lateral (select current_date + days_ahead as day) as earliest
cross join lateral (
  select (day + (coalesce(isodow - extract(isodow from day), 0)::integer + 7) % 7 + clock_time)::timestamptz as at
) as begins
join (
  select row_number() over (order by id) as number, *
  from public.conversations
) as conversations using (number)
order by arranged.number, begins.at desc;
