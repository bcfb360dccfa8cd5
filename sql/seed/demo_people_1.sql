-- Users of the demo data, from western and central Europe. All are invented, and their addresses cannot receive mail.
insert into auth.users (
  id, aud, role, email, email_confirmed_at, raw_app_meta_data, raw_user_meta_data,
  confirmation_token, recovery_token, email_change_token_new, email_change, created_at, updated_at
)
select
  account.id, 'authenticated', 'authenticated', person.email, now(),
  '{"provider": "email", "providers": ["email"]}',
  jsonb_build_object('ticket', private.begin_sign_up(
    address => person.email,
    name => person.name,
    fields => jsonb_build_object(
      'bio', person.bio, 'location', person.location, 'first_name', person.first_name, 'last_name', person.last_name,
      'age', person.age, 'biography', person.biography, 'country', person.country, 'city', person.city,
      'image_url', case when person.has_portrait
        then 'http://127.0.0.1:54321/storage/v1/object/public/avatars/' || account.id || '/portrait.webp'
      end,
      'is_searchable', person.is_searchable,
      'interest_ids', (select jsonb_agg(interest.id) from public.interests as interest where interest.name = any (person.interests))
    )
  ) ->> 'ticket'),
  '', '', '', '', now() - person.joined, now() - person.joined
from (
  values
    (
      'ines.carvalho@example.com', 'Inês Carvalho', 'Inês', 'Carvalho', 34, 'Portugal', 'Lisbon', true,
      'Tile restorer, early riser', 'Graça, Lisbon', array['Ceramics', 'Coffee', 'Jazz', 'Food markets'],
      true, interval '410 days',
      'I repair azulejos for a living, mostly in stairwells nobody visits, with a dentist''s pick and a great deal of patience. By four I am out of the workshop and, if it is a Tuesday or a Saturday, at the Feira da Ladra, arguing about the price of broken tiles. Guests get the view from my landlady''s terrace, grilled mackerel, and later a jazz cellar near Praça da Alegria where my brother plays the double bass, not very well.'
    ),
    (
      'tomas.novak@example.com', 'Tomáš Novák', 'Tomáš', 'Novák', 29, 'Germany', 'Leipzig', true,
      'From Prague, usually on a train', 'Connewitz, Leipzig', array['Hiking', 'Train journeys', 'Photography', 'Craft beer'],
      true, interval '287 days 4 hours',
      'Prague raised me, Leipzig pays me: I plan the maintenance of regional trains, which means free weekends and a staff discount I abuse shamelessly. Last year I slept in eleven night trains, photographed every station clock on the way, and walked the Ligurian coast with a tent that leaks. Hosting is not really for me. What I look for is somebody with a hill behind the house, a small brewery in front of it, and no fixed plan for Sunday.'
    ),
    (
      'aderito.semedo@example.com', 'Adérito Semedo', 'Adérito', 'Semedo', 52, 'Portugal', 'Lisbon', true,
      'Floors on weekdays, cachupa on Sundays', 'Buraca, Lisbon', array['Cooking', 'Live music', 'Dancing', 'Football'],
      true, interval '633 days 2 hours',
      'On Sundays the cachupa goes on at six in the morning and whoever knocks before one gets a bowl. My mother taught me in Praia, with corn we pounded ourselves; here I cheat with a machine and she can tell over the telephone. Weekdays I lay kitchen floors. If you want to hear funaná played properly, I know the café, the accordionist, and his mother-in-law, who decides when it ends.'
    ),
    (
      'matilde.fragoso@example.com', 'Matilde Fragoso', 'Matilde', 'Fragoso', 23, 'Portugal', 'Lisbon', false,
      'Collecting sounds, mostly boats', 'Campo de Ourique, Lisbon', array['Live music', 'Cinema', 'Train journeys', 'Jazz'],
      true, interval '58 days 11 hours',
      'Ferries sound different in fog. I have forty hours of them on a hard drive, plus escalators, the man who sharpens knives in our street, and one very angry swan. Sound engineering, second year of the master''s. I travel with a recorder, two spare batteries and hardly any clothes, and I will happily spend your whole city tour standing still with my eyes shut.'
    ),
    (
      'henrique.salvaterra@example.com', 'Henrique Salvaterra', 'Henrique', 'Salvaterra', 67, 'Portugal', 'Lisbon', true,
      'Retired tram driver, line 28', 'Estrela, Lisbon', array['History', 'Food markets', 'Photography'],
      true, interval '815 days',
      'Thirty-one years I drove the 28, up past Graça and down again, and in all that time I hit one van and no people. Retired now. My knees know every gradient in the city. I take visitors on foot along the old line, slowly, with stops: a ginjinha, the curve where the current failed in ''94 with a bride on board, the bench where I proposed. My wife comes along to correct me.'
    ),
    (
      'priya.ramachandran@example.com', 'Priya Ramachandran', 'Priya', 'Ramachandran', 31, 'Portugal', 'Lisbon', false,
      'Long walks, short holidays', 'Arroios, Lisbon', array['Hiking', 'Vegetarian food', 'Camping', 'Tea', 'Languages', 'Yoga'],
      true, interval '194 days 8 hours',
      'What four years in Arroios have taught me: how to complain about humidity in Portuguese, when to stop saying thank you, and which of the Nepali grocers gets curry leaves on Thursdays. I test banking software. Every holiday is a walk: the Rota Vicentina, the Lycian Way, next year Shikoku. Slow, vegetarian, light sleeper. I make a better guest than host, since my entire flat would fit into a lift.'
    ),
    (
      'duarte.vilhena@example.com', 'Duarte Vilhena', 'Duarte', 'Vilhena', 45, 'Portugal', 'Lisbon', false,
      'Just looking around for now', 'Lisbon', array['Sailing', 'Wine'],
      true, interval '12 days 7 hours',
      null
    ),
    (
      'leonor.pestana@example.com', 'Leonor Pestana', 'Leonor', 'Pestana', 29, 'Portugal', 'Lisbon', true,
      'Night nurse, sea in the morning', 'Mouraria, Lisbon', array['Surfing', 'Swimming', 'Beaches', 'Baking', 'Yoga'],
      true, interval '341 days 6 hours',
      'Night shift, intensive care, São José. So my weekends fall on Wednesdays and my breakfast is your dinner. After work I go straight to the water at Carcavelos, before the surf schools arrive, and I float more than I surf. I can show you Lisbon between six and nine in the morning: bakeries with the shutter half down, street sweepers, the first boats to Cacilhas. After nine I''m asleep.'
    ),
    (
      'rui.caldeira@example.com', 'Rui Caldeira', 'Rui', 'Caldeira', 41, 'Portugal', 'Lisbon', true,
      'Oficina de bicicletas em Alvalade', 'Alvalade, Lisboa', array['Cycling', 'Train journeys', 'Craft beer'],
      true, interval '502 days',
      'Tenho uma oficina de bicicletas numa antiga leitaria em Alvalade, e o cheiro a leite nunca saiu das paredes. Arranjo tudo menos trotinetas. Quem aparece com um furo leva a câmara remendada e uma lista de subidas a evitar, que em Lisboa são quase todas. Às sextas saímos um grupo de seis ou sete até Vila Franca, junto ao rio, e voltamos de comboio com as pernas feitas em papas.'
    ),
    (
      'fernanda.quintela@example.com', 'Fernanda Quintela', 'Fernanda', 'Quintela', 71, 'Portugal', 'Porto', true,
      'Seamstress once, cook always', 'Bonfim, Porto', array['Cooking', 'Food markets', 'Local crafts', 'Fashion'],
      true, interval '727 days 3 hours',
      'You will find me at the Bolhão on the side of the flowers, where my sister sells and I talk. I sewed wedding dresses in Cedofeita until my eyes gave up. Now I cook for anyone: tripas on Thursdays, caldo verde the other days, and rice in the oven as God intended. My English comes from a grandson in Leeds, so forgive the accent, it is his fault. Don''t eat before you come. I will ask three times if you are full, and it is polite to say no once.'
    ),
    (
      'nuno.abrantes@example.com', 'Nuno Abrantes', 'Nuno', 'Abrantes', 38, 'Portugal', 'Porto', true,
      'Geography teacher with wet shoes', 'Matosinhos, Porto', array['Hiking', 'Camping', 'Swimming', 'Beaches', 'Reading'],
      true, interval '266 days 9 hours',
      'Geography, years seven to nine, at a school in Matosinhos with a view of the dead refinery. My pupils don''t believe the tide pools at Leça are full of life until I make them put a hand in. I have walked along the Douro from the mouth to Peso da Régua in four stages. The fifth goes to Pinhão, and I would like company for it, ideally somebody who owns a stove.'
    ),
    (
      'barbara.teles@example.com', 'Bárbara Teles', 'Bárbara', 'Teles', 26, 'Portugal', 'Porto', true,
      'Currently playing a turnip', 'Cedofeita, Porto', array['Acting', 'Theatre', 'Writing', 'Nightlife', 'Festivals', 'Comics'],
      true, interval '143 days',
      'Twelve people came to my first show and five were cousins. Now it is sometimes forty! I write comedy, act in children''s theatre (a turnip, this season) and pour beer in Cedofeita to pay for both. I''d love to be somebody''s guest in Edinburgh, Kraków, anywhere with a small stage and a heater. In Porto I can get you into rehearsals, which are much funnier than the premieres!'
    ),
    (
      'olena.hrytsenko@example.com', 'Olena Hrytsenko', 'Olena', 'Hrytsenko', 44, 'Portugal', 'Porto', true,
      'Piano tuner from Poltava', 'Paranhos, Porto', array['Live music', 'Opera', 'Tea', 'Languages'],
      true, interval '388 days 13 hours',
      'A piano tells me in one minute whether its family is happy. I am a tuner. I came from Poltava with the tools in my hand luggage, and in Porto there is no end of neglected pianos. Slowly I am learning to like the rain. On Saturday afternoons four of us play quartets in a parish hall, not well, on bad chairs. Listeners are welcome and people who can turn pages even more.'
    ),
    (
      'xavier.lobato@example.com', 'Xavier Lobato', 'Xavier', 'Lobato', 33, 'Portugal', 'Porto', false,
      'Paid to smell things', 'Vila Nova de Gaia, Porto', array['Wine', 'Cheese', 'Train journeys'],
      true, interval '97 days 5 hours',
      'My job is to smell things and write down one word. The port lodges still employ people for this. Leave I spend at other people''s harvests, in the Jura, Tokaj, Santorini, sleeping in the barn and asking too much about yeast.'
    ),
    (
      'goncalo.neiva@example.com', 'Gonçalo Neiva', 'Gonçalo', 'Neiva', 19, 'Portugal', 'Porto', true,
      'first interrail, send help', 'Asprela, Porto', array['Football', 'Video games', 'Train journeys', 'Street food'],
      true, interval '31 days 2 hours',
      'first year of civil engineering, first year out of Barcelos, first year doing my own laundry (two shirts are now pink). i play goalkeeper for the faculty because nobody else wanted to. never been on a plane. this summer it''s interrail with my cousin and basically no money, so if you have a floor, a garden, a hammock... we wash up, we cook pasta and we can carry heavy stuff'
    ),
    (
      'silvia.brandao@example.com', 'Sílvia Brandão', 'Sílvia', 'Brandão', null, 'Portugal', 'Porto', false,
      'New here', 'Porto', array[]::text[],
      false, interval '4 days 10 hours',
      null
    ),
    (
      'celeste.viegas@example.com', 'Celeste Viegas', 'Celeste', 'Viegas', 63, 'Portugal', 'Faro', true,
      'Clams, when the tide allows', 'Ilha da Culatra, Faro', array['Fishing', 'Cooking', 'Beaches'],
      true, interval '559 days 7 hours',
      'Low tide decides my day, so don''t ask me what time, ask me which moon. I dig clams in the Ria Formosa like my mother did and her mother, bent over with a knife and a bucket, and my back is still good. When strangers come along I lend them boots and laugh a little. Afterwards we eat what we found, with garlic and coriander, on the island side where there is no road.'
    ),
    (
      'martim.guerreiro@example.com', 'Martim Guerreiro', 'Martim', 'Guerreiro', 27, 'Portugal', 'Faro', false,
      'Suitcases in summer, swell in winter', 'Montenegro, Faro', array['Surfing', 'Beaches', 'Camping', 'Street food'],
      true, interval '219 days',
      'From May until October I throw your suitcases onto the belt at Faro airport. Sorry about the wheels. The other half of the year I''m in a van with a mattress and two boards, chasing swell between Sagres and Galicia, once as far as Taghazout, where I got food poisoning and a very good friend in the same week. Looking for people with a driveway and a hot shower near any coast.'
    ),
    (
      'ailton.barbosa@example.com', 'Ailton Barbosa', 'Ailton', 'Barbosa', 36, 'Portugal', 'Faro', true,
      'Barber, forró on Tuesdays', 'Cidade Velha, Faro', array['Dancing', 'Live music', 'Nightlife', 'Football', 'Street food'],
      true, interval '452 days 12 hours',
      'Recife gave me the accent, the hips and a barber''s diploma. The shop is behind the cathedral: two chairs, one fan, always forró. Cutting hair is the quickest way to learn a town, and by the second month I knew who was getting divorced. Tuesdays I teach dancing in the firemen''s hall for five euros, beginners too, in shoes with a smooth sole. Come early and I''ll fix your fringe.'
    ),
    (
      'deborah.whitcombe@example.com', 'Deborah Whitcombe', 'Deborah', 'Whitcombe', 58, 'Portugal', 'Faro', true,
      'Spoonbills and a fig tree', 'São Pedro, Faro', array['Birdwatching', 'Wildlife', 'Gardening', 'Tea', 'Reading', 'Baking'],
      true, interval '868 days 4 hours',
      'Spoonbills, mainly. Also flamingos, stone-curlews and the occasional osprey. I sold a terraced house in Stoke after the divorce and bought a smaller one in Faro with a fig tree. The spare room comes with loan binoculars and a strict rule about lights before dawn.'
    ),
    (
      'tania.rosendo@example.com', 'Tânia Rosendo', 'Tânia', 'Rosendo', 40, 'Portugal', 'Faro', false,
      'Travelling with a ten-year-old', 'Penha, Faro', array['Train journeys', 'Board games', 'Museums', 'Swimming'],
      true, interval '165 days 15 hours',
      'My daughter is ten and keeps a ledger of every train we have taken: number, seat, whether the toilet worked. Two hundred and six so far. We like hosts who have children, or a cat, or at least a board game with all its pieces.'
    ),
    (
      'jacinto.correia@example.com', 'Jacinto Correia', 'Jacinto', 'Correia', 78, 'Portugal', 'Faro', true,
      'Fifty years of cork', 'Faro', array['History', 'Gardening', 'Local crafts'],
      false, interval '300 days 20 hours',
      'Cork comes off the tree every nine years. Up in São Brás I stripped some of the same oaks six times, which tells you how old I am. My granddaughter types this. I play dominoes in the shade opposite the market, I make fig cakes with almonds for Christmas, and I was in Germany once, in 1971, mending roads near Kassel. If you are from Kassel, I would like news of the bridge.'
    ),
    (
      'yara.coutinho@example.com', 'Yara Coutinho', 'Yara', 'Coutinho', 22, 'Portugal', 'Faro', false,
      'Marine biology student', 'Gambelas, Faro', array['Diving', 'Wildlife', 'Festivals'],
      true, interval '45 days',
      null
    ),
    (
      'nuria.planella@example.com', 'Núria Planella', 'Núria', 'Planella', 36, 'Spain', 'Barcelona', true,
      'Third level, left side', 'Gràcia, Barcelona', array['Festivals', 'Yoga', 'Street food', 'Languages'],
      true, interval '474 days 6 hours',
      'Third level, left side. That is my place in the human tower, and if you have ever had four people standing on your shoulders you know why I also do yoga. Our colla rehearses on Tuesdays and Fridays and anybody may push at the base: you arrive as a tourist, someone winds a sash round your waist, and an hour later you have sixty relatives. By day I audit parking garages.'
    ),
    (
      'oriol.batlle@example.com', 'Oriol Batlle', 'Oriol', 'Batlle', 48, 'Spain', 'Barcelona', true,
      'Looks up for the city council', 'Sant Antoni, Barcelona', array['Architecture', 'History', 'Cooking', 'Photography'],
      true, interval '691 days 1 hour',
      'Balconies fall off more often than you''d think, and the city pays me to look up. Twenty years of it: iron, sandstone, the odd plaster saint. I give walks called "Everything Above the First Floor", free of charge, with a sore neck guaranteed. Divorced, two teenagers who find this embarrassing. I cook rice on Sundays and I don''t do Gaudí before lunch.'
    ),
    (
      'farhan.siddiqui@example.com', 'Farhan Siddiqui', 'Farhan', 'Siddiqui', 39, 'Spain', 'Barcelona', true,
      'Open nine to midnight', 'El Raval, Barcelona', array['Tea', 'Street food', 'Cooking', 'Languages'],
      true, interval '238 days 17 hours',
      'My uncle''s shop in the Raval is open from nine to midnight, so I have sold a corkscrew to most of the neighbourhood. I come from Sialkot, the city that stitches the world''s footballs, though my own game is cricket: Sundays on Montjuïc, bring trainers, we are always one player short. Guests can sit behind the counter with a cup of chai. My wife makes nihari on Fridays and there is too much.'
    ),
    (
      'mireia.sole@example.com', 'Mireia Solé', 'Mireia', 'Solé', 24, 'Spain', 'Barcelona', false,
      'Bookbinding and 6b', 'Poble-sec, Barcelona', array['Climbing', 'Mountains', 'Reading', 'Local crafts'],
      true, interval '76 days 3 hours',
      'Paper grain, bone folder, wheat paste: I''m apprenticed to a bookbinder who refuses to own a telephone. Saturdays belong to Montserrat. I climb around 6b, fall politely and don''t shout. Planning three months in Sardinia and Kalymnos, and very interested in couches with a wall nearby.'
    ),
    (
      'gaspar.ulloa@example.com', 'Gaspar Ulloa', 'Gaspar', 'Ulloa', 55, 'Spain', 'Barcelona', true,
      'Bandoneón on the metro', 'El Clot, Barcelona', array['Tango', 'Live music', 'Dancing', 'Poetry'],
      true, interval '584 days 9 hours',
      'Who still carries a bandoneón on the metro? I do, on Wednesdays, line 1, second carriage, to a milonga in a former garage. My parents left Valparaíso in a hurry in 1974 with one suitcase and me. I repair, teach and play, in that order of income. If you dance, we''ll meet on the floor; if you don''t, I''ll find you a chair beside the old ladies, who comment on everybody.'
    ),
    (
      'jiahui.wen@example.com', 'Jiahui Wen', 'Jiahui', 'Wen', 28, 'Spain', 'Barcelona', true,
      'Baker with four languages', 'Fort Pienc, Barcelona', array['Baking', 'Languages', 'Food markets', 'Comics'],
      true, interval '127 days 14 hours',
      'Grandmother rolled her scallion pancakes on the lid of a washing machine, because the kitchen was let to a lodger. The lid hangs in our bakery now, near Arc de Triomf, and every new customer asks. Born in Qingtian, raised in Santa Coloma, fluent in four languages and bad-tempered in all of them before seven. I want to learn bread from people who aren''t on the internet: Georgia, Puglia, the Alentejo.'
    ),
    (
      'xenia.rovira@example.com', 'Xènia Rovira', 'Xènia', 'Rovira', 61, 'Spain', 'Barcelona', false,
      'Looking for silence', 'Horta, Barcelona', array['Reading', 'Swimming', 'Local crafts', 'Meditation'],
      true, interval '356 days',
      'After thirty-eight years on a hospital switchboard I like silence, and I go and look for it. Svalbard was good. So was a monastery near Burgos where one may speak on Sundays. I travel alone, with knitting, and afterwards my hosts get a postcard, handwritten, usually late. No interest in sights. Show me your library, your swimming pool, where you buy thread.'
    ),
    (
      'adria.pons@example.com', 'Adrià Pons', 'Adrià', 'Pons', 32, 'Spain', 'Barcelona', true,
      'Weekends in the Pyrenees', 'Sants, Barcelona', array['Skiing', 'Mountains', 'Running', 'Craft beer'],
      true, interval '18 days 19 hours',
      null
    ),
    (
      'jose.roldan@example.com', 'Pepe Roldán', 'José', 'Roldán', 69, 'Spain', 'Seville', true,
      'Camarero jubilado, ajedrecista malo', 'Alameda de Hércules, Sevilla', array['Chess', 'Wine', 'Dogs', 'Football'],
      true, interval '776 days 11 hours',
      'Cuarenta años detrás de una barra en la Alameda dan para conocer a media Sevilla y deberle dinero a la otra media. Ya la dejé. Ahora juego al ajedrez en el club los martes, pierdo casi siempre, y paseo a la perra de mi hija por el río. Al que viene le enseño tres bares sin fotos en la carta y cómo se pide media manzanilla sin hacer el ridículo.'
    ),
    (
      'macarena.luque@example.com', 'Macarena Luque', 'Macarena', 'Luque', 32, 'Spain', 'Seville', true,
      'Flamenco shoes, made by hand', 'San Luis, Seville', array['Local crafts', 'Fashion', 'Live music', 'Dancing'],
      true, interval '315 days 2 hours',
      'Size 37, red suede, nails hammered in one by one: that was the first pair I made alone, and the dancer wore them out in two seasons. Our workshop makes flamenco shoes in a street too narrow for the delivery van. Visitors can try the hammer. I don''t dance, I listen, and by now I can tell from the next room if a heel is loose. In Feria week I leave town.'
    ),
    (
      'rocio.benjumea@example.com', 'Rocío Benjumea', 'Rocío', 'Benjumea', 47, 'Spain', 'Seville', false,
      'Small bus, big plains', 'Nervión, Seville', array['Horse riding', 'Wildlife', 'Beaches'],
      true, interval '203 days 10 hours',
      'The C5 is the tiny bus that goes through the old town, and there are alleys where I fold in the mirrors by hand. Eight hours of that and I want width. So my holidays are plains and empty beaches: last year the Hungarian puszta, before that Los Monegros, both in August like an idiot. I also ride, an old mare called Paloma who lives in Coria and does as she pleases.'
    ),
    (
      'samba.ndoye@example.com', 'Samba Ndoye', 'Samba', 'Ndoye', 30, 'Spain', 'Seville', true,
      'Kayak teacher on the Guadalquivir', 'Triana, Seville', array['Kayaking', 'Swimming', 'Fishing', 'Live music'],
      true, interval '428 days 16 hours',
      'When I arrived I could not swim, which is strange for the son of a fisherman from Saint-Louis. Now I teach kayaking on the Guadalquivir. Morning groups are schoolchildren, evening groups are hen parties, and the children listen better. For people who stay with me and Lucía there is one rule: you see the city first from the water, at half past seven, before the heat and before the cathedral.'
    ),
    (
      'alvaro.cantillana@example.com', 'Álvaro Cantillana', 'Álvaro', 'Cantillana', 21, 'Spain', 'Seville', true,
      'Digging, mostly roof tiles', 'Triana, Seville', array['Archaeology', 'History', 'Nightlife', 'Museums'],
      true, interval '83 days',
      'So far this summer I have excavated one hairpin, eleven kilos of roof tile and a modern yoghurt pot. Archaeology isn''t what my cousins imagine. We dig at Itálica from six until the heat says stop, then I sleep, then I walk around town with whoever is staying in our student flat (five rooms, one fan, no two plates the same). I know which Roman columns ended up holding up which bars.'
    ),
    (
      'estrella.garrido@example.com', 'Estrella Garrido', 'Estrella', 'Garrido', 54, 'Spain', 'Seville', true,
      'Tax office by day, Saturn by night', 'Macarena, Seville', array['Astronomy', 'Cooking', 'Camping', 'Mountains'],
      true, interval '610 days 22 hours',
      'With a name like mine there was no choice. On clear nights I drive a van with two telescopes to the Sierra, an hour and a bit from Seville, and show people Saturn, and they swear, every one of them, in whatever language they have. By day I am at the tax office. I''m a better cook than astronomer: chickpeas with spinach in a flask, for when the dew comes down.'
    ),
    (
      'ingrid.halvorsen@example.com', 'Ingrid Halvorsen', 'Ingrid', 'Halvorsen', 43, 'Spain', 'Seville', false,
      'Translator of snow ploughs', 'Los Remedios, Seville', array['Dogs', 'Skiing', 'Tea', 'Languages', 'Reading'],
      false, interval '149 days 5 hours',
      'Forty-four degrees in the shade and I''m translating a manual for snow ploughs. That has been my July for nine years. I moved from Tromsø for a man, kept the flat and the dog, and lost track of the man. Autumn is when I travel, north usually, against the birds. A desk, decent tea and a wood stove are all I need. I can pay in proofreading or waffles.'
    ),
    (
      'concha.villodres@example.com', 'Concha Villodres', 'Concha', 'Villodres', 74, 'Spain', 'Málaga', true,
      'To the yellow buoy and back', 'Pedregalejo, Málaga', array['Swimming', 'Cooking'],
      true, interval '539 days 3 hours',
      'Every morning, winter too, four of us go in at Pedregalejo and swim to the yellow buoy and talk the entire way. The doctor says it is the talking that keeps us healthy. My father grilled sardines in a boat filled with sand, then my brother, and today my nephew. I''ll teach you to eat them with your hands and where to put the bones. Three grandchildren, one parrot, no dishwasher.'
    ),
    (
      'ismael.rios@example.com', 'Ismael Ríos', 'Ismael', 'Ríos', 28, 'Spain', 'Málaga', true,
      'Level designer, gets lost for money', 'Lagunillas, Málaga', array['Video games', 'Board games', 'Street art', 'Architecture'],
      true, interval '262 days 18 hours',
      'Level designer. This means I get lost professionally and then write a report about it. The game I''m on now happens in a tobacco factory, so I keep dragging visitors through the real one to see if they take the wrong stairs. Tuesday is board game night at ours in Lagunillas: eight people, four chairs, plenty of crisps. I''d trade a sofa for someone able to explain Go without sighing.'
    ),
    (
      'siobhan.keaveney@example.com', 'Siobhán Keaveney', 'Siobhán', 'Keaveney', 35, 'Spain', 'Málaga', true,
      'Nine dogs on Saturdays', 'La Victoria, Málaga', array['Dogs', 'Volunteering', 'Hiking', 'Languages'],
      true, interval '397 days 8 hours',
      'Count on muddy shoes. I walk shelter dogs every Saturday in the hills above the city, about nine of them and never the same nine, and guests are handed a lead whether they like it or not. I came over from Mayo for one school year as a teaching assistant; that was 2014. I miss butter and proper rain. On the tortilla question I''m firmly with the onions.'
    ),
    (
      'fatima.elouazzani@example.com', 'Fátima El Ouazzani', 'Fátima', 'El Ouazzani', 26, 'Spain', 'Málaga', true,
      'Glasses, mint tea, gossip', 'Centro, Málaga', array['Tea', 'Food markets', 'Fashion', 'Photography', 'Street food', 'Languages'],
      true, interval '180 days 1 hour',
      'Two grandmothers and one strait: Mina is in Tetouan, Paqui in Estepona, and on a clear day each claims to see the other''s washing line. I fit glasses in a shop off Calle Nueva. Half of the customers come in only for gossip. What I like to do with visitors is mint tea the slow way, then the fish stalls at Atarazanas just before closing, when the prices drop and so do the manners.'
    ),
    (
      'francisco.palomo@example.com', 'Curro Palomo', 'Francisco', 'Palomo', null, 'Spain', 'Málaga', false,
      'Harbour pilot', 'El Palo, Málaga', array['Fishing', 'Sailing'],
      true, interval '667 days 12 hours',
      'Harbour pilot. I climb a rope ladder at four in the morning up the side of a tanker and tell a captain from Manila, politely, that he is too fast. At home I say little. I fish. My holidays are other ports, where I stand on the quay and criticise.'
    ),
    (
      'begona.altube@example.com', 'Begoña Altube', 'Begoña', 'Altube', 57, 'Spain', 'Málaga', true,
      'Two hundred goats and a lift', 'Teatinos, Málaga', array['Cheese', 'Wine', 'Hiking', 'Cooking'],
      true, interval '491 days 15 hours',
      'Goats, two hundred and ten of them, on a slope outside Almogía, though I sleep in the city because my knees prefer a building with a lift. Cheese I learned from an aunt in Gipuzkoa, with sheep, and down here I had to forget most of it. Anybody who stays is woken at five for the milking. Only once! There is txakoli in the fridge for the homesick, meaning me.'
    ),
    (
      'ruben.carmona@example.com', 'Rubén Carmona', 'Rubén', 'Carmona', 37, 'Spain', 'Málaga', false,
      'Will write something soon', 'Huelin, Málaga', array['Running', 'Cinema', 'Football'],
      true, interval '26 days 6 hours',
      null
    ),
    (
      'ludovica.zanardi@example.com', 'Ludovica Zanardi', 'Ludovica', 'Zanardi', 30, 'Italy', 'Bologna', true,
      'Makes tortellini like suitcases', 'Saragozza, Bologna', array['Cooking', 'Food markets', 'Wine', 'Running'],
      true, interval '371 days 4 hours',
      'Nonna Tilde''s tortellini weigh two grams each; mine weigh five and she calls them suitcases. I practise every Sunday on her board, which is older than the Republic. The rest of the week I sell hearing aids on Via San Felice and speak very clearly. I like having guests at the table, because in company she criticises me less. Wear flat shoes: after lunch we go up to San Luca, all the arches.'
    ),
    (
      'ettore.gamberini@example.com', 'Ettore Gamberini', 'Ettore', 'Gamberini', 66, 'Italy', 'Bologna', true,
      'Four motorcycles, one espresso machine', 'Borgo Panigale, Bologna', array['Coffee', 'Mountains'],
      true, interval '843 days 14 hours',
      '1978, a motorcycle that nobody could start: that is how I met my wife, my employer and my best enemy, all in one courtyard. I am retired from the factory, from engines no. In the garage there are four bikes, an espresso machine I rebuilt, and always the moped of some nephew. I take visitors on the back to the Futa pass. They hold on, I talk. Helmets I have in all sizes.'
    ),
    (
      'chiamaka.eze@example.com', 'Chiamaka Eze', 'Chiamaka', 'Eze', 27, 'Italy', 'Bologna', true,
      'Radio galaxies and soprano', 'San Donato, Bologna', array['Astronomy', 'Live music', 'Opera', 'Cinema'],
      true, interval '248 days',
      'Radio galaxies don''t care what time it is. My supervisor does. I came from Enugu for the doctorate, and I have grown fond of a town you can cross in a downpour with dry braids. On Sundays I sing in a choir that puts Igbo hymns next to Verdi. My flatmates and I host often, on a mattress under a poster of the telescope at Medicina, and if you ask nicely I''ll drive you there.'
    ),
    (
      'davide.righi@example.com', 'Davide Righi', 'Davide', 'Righi', 42, 'Italy', 'Bologna', false,
      'On air from two to five', 'Bolognina, Bologna', array['Live music', 'Festivals', 'Jazz', 'Nightlife'],
      true, interval '521 days 19 hours',
      'Between two and five in the morning I talk to truck drivers, bakers and the heartbroken, on a community station with a mast the size of a broom. Somebody once phoned in a recipe for eel. I sleep till noon. Festivals are my excuse to leave town: Sines, Moers, Roadburn, that tiny one on Gozo. I go alone and I carry earplugs for two. Let me interview you in your kitchen.'
    ),
    (
      'serena.lambertini@example.com', 'Serena Lambertini', 'Serena', 'Lambertini', 19, 'Italy', 'Bologna', false,
      'Draws hands on trains', 'Cirenaica, Bologna', array['Comics', 'Painting', 'Train journeys', 'Reading'],
      true, interval '63 days 8 hours',
      'Drawing hands is the worst. I fill whole train rides with them, other people''s, asleep or texting. Published so far: one comic, twelve copies, stapled, about a pigeon with a mortgage. I''d like to see Angoulême and sleep in the house of anyone who owns too many books.'
    ),
    (
      'marius.dobrescu@example.com', 'Marius Dobrescu', 'Marius', 'Dobrescu', 46, 'Italy', 'Bologna', false,
      'Roofer, fishes with his son', 'Corticella, Bologna', array['Fishing', 'Football'],
      true, interval '112 days 21 hours',
      'I worked on perhaps sixty roofs in this city, so when we walk I look at the gutters. From Bacău, here since 2003. Every second Saturday I go to the Po with my son for catfish. He complains that there is no signal.'
    ),
    (
      'giulia.fantuzzi@example.com', 'Giulia Fantuzzi', 'Giulia', 'Fantuzzi', null, 'Italy', 'Bologna', true,
      'Vegetarian in the city of mortadella', 'Santo Stefano, Bologna', array['Vegetarian food', 'Theatre', 'Cycling'],
      true, interval '37 days 13 hours',
      null
    ),
    (
      'carmela.iovine@example.com', 'Carmela Iovine', 'Carmela', 'Iovine', 59, 'Italy', 'Naples', true,
      'Window two, hydrofoils', 'Sanità, Naples', array['Cooking', 'Food markets'],
      true, interval '704 days 5 hours',
      'Window two at the hydrofoil terminal: if you ever missed the boat to Procida, it was me who told you. I say it kindly. At home the ragù starts on Saturday evening and mutters until Sunday lunch, and the whole staircase knows. I have a bed for one and a table for nine. Don''t bring flowers, bring bread from wherever you come from, even if it has gone hard.'
    ),
    (
      'gennaro.capasso@example.com', 'Gennaro Capasso', 'Gennaro', 'Capasso', 35, 'Italy', 'Naples', true,
      'Caver, forty metres down', 'Materdei, Naples', array['Archaeology', 'History', 'Climbing', 'Photography'],
      true, interval '439 days',
      'Down there it is fifteen degrees all year. I''m a caver first and a guide second, and the tuff under Naples is my office: cisterns, Greek quarries, an air-raid shelter where children drew aeroplanes on the wall. With friends who stay I go to places that sell no tickets. Helmets, no white trousers, nobody who panics. Above ground I''m useless and get lost between Forcella and the sea.'
    ),
    (
      'thilini.wickramage@example.com', 'Thilini Wickramage', 'Thilini', 'Wickramage', 38, 'Italy', 'Naples', true,
      'Carer, free on Thursdays', 'Piazza Cavour, Naples', array['Cooking', 'Tea', 'Street food', 'Volunteering'],
      true, interval '326 days 10 hours',
      'For eleven years I have looked after Signora Elvira, who is ninety-six and cheats at cards. On my free Thursday I go to Piazza Cavour and meet half of Negombo, and we eat kottu out of paper. People think Naples and Sri Lanka are far apart. The shouting is the same, the laundry also. I can show you where to buy real cinnamon, and how to make hoppers on one gas ring. Signora Elvira would like to meet you too; she doesn''t forgive me for going out without her.'
    ),
    (
      'raffaele.buonocore@example.com', 'Lello', 'Raffaele', 'Buonocore', 72, 'Italy', 'Naples', true,
      'Sarto in pensione, loggionista', 'Quartieri Spagnoli, Napoli', array['Opera', 'Coffee', 'Fashion', 'Theatre'],
      true, interval '789 days 18 hours',
      'Ho cucito pantaloni per cinquant''anni in un basso ai Quartieri Spagnoli, e ancora oggi la gente la guardo dalla vita in giù. Vedovo, due figli a Torino che telefonano la domenica. Il caffè lo faccio con la cuccumella: ci vogliono dieci minuti e nel frattempo si parla. Chi viene da fuori lo porto al San Carlo, in loggione, dove si vede male e si sente benissimo.'
    ),
    (
      'ilaria.pappalardo@example.com', 'Ilaria Pappalardo', 'Ilaria', 'Pappalardo', 25, 'Italy', 'Naples', false,
      'Same forty corners every month', 'Montesanto, Naples', array['Street art', 'Photography', 'Architecture', 'Cinema'],
      true, interval '210 days 2 hours',
      'Walls get repainted, so I hurry. Since 2019 I''ve photographed the same forty corners of Naples every month, from the same spot, with the same cheap lens: saints, footballers, eviction notices, a cat that keeps getting in. It is for a thesis that refuses to end. When I travel I do the ugly suburbs, on purpose, and prefer hosts on a top floor with somebody''s washing to look at.'
    ),
    (
      'ciro.amitrano@example.com', 'Ciro Amitrano', 'Ciro', 'Amitrano', 20, 'Italy', 'Naples', false,
      'Left back, pizza courier', 'Ponticelli, Naples', array['Football', 'Cycling', 'Video games', 'Street food'],
      true, interval '51 days 16 hours',
      'Try the hill to Vomero on an electric bike with four pizzas and a dead battery... anyway. I deliver, I play left back for a team in Ponticelli, and I want to see one match in every big stadium before I''m thirty. Done three: San Siro, Dortmund, Benfica. I learn English from commentary so my vocabulary is mainly injuries. If you have a sofa near a ground tell me, I am clean and leave early.'
    ),
    (
      'assunta.scognamiglio@example.com', 'Assunta Scognamiglio', 'Assunta', 'Scognamiglio', 47, 'Italy', 'Naples', true,
      'Listens to volcanoes', 'Bagnoli, Naples', array['Mountains', 'Hiking', 'Wine', 'Reading'],
      true, interval '598 days',
      'People ask if I''m scared. I work at the observatory that listens to Vesuvius and the Campi Flegrei, and no, I''m scared of mopeds. The ground under Bagnoli, where I live, rises a little every month; we cook, argue and pay mortgages on top of it. I take curious visitors up to the crater early, before the buses, then to a trattoria whose owner feels each tremor sooner than my instruments.'
    ),
    (
      'pasquale.ferrigno@example.com', 'Pasquale Ferrigno', 'Pasquale', 'Ferrigno', 43, 'Italy', 'Naples', false,
      'Clay shepherds all year', 'San Lorenzo, Naples', array['Ceramics', 'Local crafts', 'Painting'],
      true, interval '334 days 23 hours',
      'Nativity figures, all year round, even in August in my underpants with a fan on the table. In February I close for two weeks and go somewhere flat and cold where nobody knows what a shepherd costs. Friesland, last time.'
    ),
    (
      'rosalia.cusimano@example.com', 'Rosalia Cusimano', 'Rosalia', 'Cusimano', 49, 'Italy', 'Palermo', true,
      'Puppeteer, fourth generation', 'Albergheria, Palermo', array['Theatre', 'Acting', 'Local crafts', 'History'],
      true, interval '652 days 9 hours',
      'Orlando weighs nine kilos with his armour on, and I''ve been lifting him since I was seven. We are puppeteers in the fourth generation; my brothers do the fights, I do the voices, women and horses and the occasional angel. Forty seats on wooden benches, Saturdays at half past five. Afterwards guests come behind the curtain and try to make a Saracen walk. He usually falls over. My niece is nine and already does better dragons than I do, so perhaps there will be a fifth.'
    ),
    (
      'salvatore.tumminia@example.com', 'Salvo Tumminia', 'Salvatore', 'Tumminia', 40, 'Italy', 'Palermo', true,
      'Artichokes at Ballarò', 'Ballarò, Palermo', array['Food markets', 'Street food', 'Gardening'],
      true, interval '466 days 7 hours',
      'Listen: that song at Ballarò, the one in everybody''s videos, is not a song, it is prices. I get up at three. If you are awake too, I take you to the wholesale market, I buy you bread with spleen at dawn, and I send you back to bed full.'
    ),
    (
      'kwabena.sarfo@example.com', 'Kwabena Sarfo', 'Kwabena', 'Sarfo', 33, 'Italy', 'Palermo', true,
      'Shirts from wax print and curtains', 'Capo, Palermo', array['Fashion', 'Cooking', 'Local crafts', 'Football'],
      true, interval '277 days 3 hours',
      'The sewing machine was already in the room when I rented it, a pedal one from before the war, and I took that as a message. Today I make shirts out of wax print and old Sicilian curtains, in an alley off Via Maqueda. From Kumasi to here was a long way round, and I tell it only to people I know. First we eat. My waakye, then your opinion about arancine.'
    ),
    (
      'agata.loverde@example.com', 'Agata Lo Verde', 'Agata', 'Lo Verde', 68, 'Italy', 'Palermo', false,
      'Latin and Greek, retired', 'Libertà, Palermo', array['Archaeology', 'Reading', 'Museums', 'Train journeys', 'Languages', 'Poetry', 'Writing'],
      true, interval '549 days 17 hours',
      'Forty-one years of the ablative absolute. I taught Latin and Greek to the children of children I had taught, and upon my retirement they presented me with a suitcase, which I took literally. Since then: Alexandria, Durrës, Cádiz, Trier, always overland or by sea, always with one book. I require no comfort, merely quiet after ten and a lamp one can read by. I do correct inscriptions aloud, and apologise in advance. Should you live near a Roman bridge or a good second-hand bookshop, do write.'
    ),
    (
      'beniamino.ingrassia@example.com', 'Beniamino Ingrassia', 'Beniamino', 'Ingrassia', 29, 'Italy', 'Palermo', true,
      'Three minutes forty', 'Mondello, Palermo', array['Diving', 'Swimming', 'Fishing', 'Meditation'],
      true, interval '136 days 11 hours',
      'Three minutes forty, on a good day, with a slow heart and nothing on my mind except groupers. I teach freediving at Mondello. Guests can learn to breathe first, lying on a towel on my balcony, or else take my bicycle and a list of granita places.'
    ),
    (
      'dorota.wrzosek@example.com', 'Dorota Wrzosek', 'Dorota', 'Wrzosek', null, 'Italy', 'Palermo', true,
      'Paper restorer from Toruń', 'Kalsa, Palermo', array['Reading', 'History', 'Cooking', 'Cinema'],
      true, interval '402 days 20 hours',
      'Water damage, mould, one cannonball: the archive here has had everything, and I sit with a scalpel and Japanese tissue putting the eighteenth century back together. I''m from Toruń. The contract was for six months, and then the jacarandas flowered. What can I offer? A room with a crooked floor in the Kalsa, pierogi with ricotta (the neighbours approve), and some courtyards whose doormen let me in.'
    ),
    (
      'antonino.sciortino@example.com', 'Nino', 'Antonino', 'Sciortino', 31, 'Italy', 'Palermo', false,
      'Gap year, ten years late', 'Brancaccio, Palermo', array['Train journeys', 'Cooking', 'Camping', 'Volunteering'],
      true, interval '69 days 12 hours',
      'My gap year is a decade late. I was the one who stayed: father''s petrol station, mother''s hip, sister''s wedding. In March we sold the station, and the week after I took the train to Trapani and back, just to see if I could leave. I could. Next is Palermo to Oslo without flying. I fix cars, I make caponata, and I have slept sitting up behind a till. Seven lorry drivers told me to come and see them one day. I''m going to find out who meant it.'
    ),
    (
      'solene.perrachon@example.com', 'Solène Perrachon', 'Solène', 'Perrachon', 33, 'France', 'Lyon', true,
      'Eight colours, eight screens', 'Croix-Rousse, Lyon', array['Local crafts', 'Cheese', 'Fashion', 'Painting'],
      true, interval '486 days 4 hours',
      'Ink under my nails since 2012. I print silk scarves by hand on the slopes of the Croix-Rousse, eight colours, eight screens, and one sneeze can cost me a morning. The traboules are my way to the post office, so following me on errands shows you more of them than any tour. Thursdays after work we drag a table onto the landing, and whoever lives in the building or is passing through brings a cheese.'
    ),
    (
      'baptiste.ravier@example.com', 'Baptiste Ravier', 'Baptiste', 'Ravier', 51, 'France', 'Lyon', true,
      'Locksmith, puppet carver', 'Guillotière, Lyon', array['Theatre', 'Dogs', 'Local crafts', 'Wine'],
      true, interval '719 days 13 hours',
      'A locksmith sees people at their worst: barefoot, furious, with something on the stove. I''ve opened about nine thousand doors in Lyon and kept quiet about all of them. In my free time I carve Guignol heads from lime wood and take them to the park for children who boo. Travellers interest me because they never know where their keys are. I have a sofa bed, a dog named Cylindre, and tools.'
    ),
    (
      'linh.quach@example.com', 'Linh Quach', 'Linh', 'Quach', 29, 'France', 'Lyon', false,
      'Sundays on two wheels', 'Gerland, Lyon', array['Cycling', 'Mountains', 'Coffee', 'Camping'],
      true, interval '156 days 6 hours',
      'Sunday, 5.40, two bottles, three rice balls wrapped in foil, and I''m off before my flatmates have come home. Weekdays I count cells for a cancer lab in Gerland and look at gradient profiles during centrifuge runs. Hội An is where my parents met. I know it only from visits to great-aunts, and I''d like to ride from there up to Đà Lạt with somebody else who brakes on descents.'
    ),
    (
      'marguerite.chazal@example.com', 'Marguerite Chazal', 'Marguerite', 'Chazal', 76, 'France', 'Lyon', true,
      'Quenelles, belote et balcon sur la Saône', 'Vaise, Lyon', array['Cooking', 'Board games', 'Food markets'],
      true, interval '882 days',
      'Mes quenelles, je les tiens de la mère Jouve, chez qui j''ai fait la plonge à seize ans, et je ne donne pas la recette, je la montre. J''ai enterré deux maris et trois chats. Il me reste un balcon sur la Saône, un jeu de belote et l''envie de compagnie. Les jeunes qui passent dorment dans la chambre bleue, épluchent les légumes et me racontent leur voyage, même les mauvais bouts.'
    ),
    (
      'idriss.benhaddou@example.com', 'Idriss Benhaddou', 'Idriss', 'Benhaddou', 24, 'France', 'Lyon', true,
      'Films people who jump', 'Vaulx-en-Velin, Lyon', array['Climbing', 'Cinema', 'Street art', 'Running', 'Comics'],
      true, interval '92 days 18 hours',
      'Vaulx-en-Velin has the best concrete in Europe. I mean it: ledges, ramps, rails from the seventies, nobody shouting at you before ten. I did parkour until my ankle went, now I climb, and I film the ones who still jump. Weddings pay for the lenses. My mum feeds every visitor harira whether it''s Ramadan or not. Get off the metro at La Soie and look for a guy with a tripod.'
    ),
    (
      'gaelle.tissot@example.com', 'Gaëlle Tissot', 'Gaëlle', 'Tissot', null, 'France', 'Lyon', false,
      'Train manager, also on holiday', 'Part-Dieu, Lyon', array['Train journeys', 'Skiing', 'Photography'],
      true, interval '574 days 8 hours',
      '"Ladies and gentlemen, the buffet car is closed." I say that better than anyone in the Rhône valley. Fifteen years a train manager: Paris at breakfast, Marseille for a sandwich, home for the evening news. And in my holidays? Trains, but with my shoes off. The Bergen line, the Bernina, the slow one to Briançon. I collect closed stations. If you live in one, please write to me.'
    ),
    (
      'pierrick.monnet@example.com', 'Pierrick Monnet', 'Pierrick', 'Monnet', 39, 'France', 'Lyon', false,
      'Two children, little time', 'Villeurbanne, Lyon', array['Skiing', 'Board games', 'Camping'],
      true, interval '22 days 1 hour',
      null
    ),
    (
      'zoubida.meziane@example.com', 'Zoubida Meziane', 'Zoubida', 'Meziane', 56, 'France', 'Marseille', true,
      'Couscous for eighty', 'Noailles, Marseille', array['Cooking', 'Volunteering', 'Food markets', 'Vegetarian food'],
      true, interval '638 days 15 hours',
      'Couscous for eighty is easier than for eight, I promise you, because nobody asks about the salt. Our association in Noailles cooks on Fridays for whoever comes: students, sailors, a retired judge who peels. I was nine when we took the boat from Béjaïa. Any guest of mine gets an apron, and in the evening a seat on the roof. Vegetarians needn''t worry, one pot is always squash only.'
    ),
    (
      'loic.castagnoli@example.com', 'Loïc Castagnoli', 'Loïc', 'Castagnoli', 31, 'France', 'Marseille', true,
      'Ranger, says no in six languages', 'Mazargues, Marseille', array['Hiking', 'Wildlife', 'Birdwatching', 'Climbing', 'Kayaking', 'Beaches', 'Photography'],
      true, interval '418 days 21 hours',
      'No, you can''t drive to the calanque. I say it four hundred times each July, in six languages, smiling; that''s a ranger''s summer, along with cigarette ends and counting Bonelli''s eagles. Out of season the place is mine. In February, with a thermos, I walk whoever is staying with me down to Sugiton or further, and we meet nobody but some madman swimming, who generally turns out to be my brother.'
    ),
    (
      'anais.cauvin@example.com', 'Anaïs Cauvin', 'Anaïs', 'Cauvin', 27, 'France', 'Marseille', false,
      'Court clerk, drum in the south stand', 'Castellane, Marseille', array['Football', 'Nightlife', 'Festivals', 'Craft beer'],
      true, interval '232 days 5 hours',
      'In court I type what everyone says and show no face. In the south stand of the Vélodrome I make up for it. Season ticket at eleven, drum at fifteen, voice gone every second Monday, and the judges know not to ask me anything before noon. Away games are how I''ve seen Europe: Split, Rotterdam, Bilbao, Brighton. I''d like to go back to one of them and be let out of the bus.'
    ),
    (
      'vartan.keuchkerian@example.com', 'Vartan Keuchkerian', 'Vartan', 'Keuchkerian', 64, 'France', 'Marseille', true,
      'Watchmaker, lunch at noon', 'Beaumont, Marseille', array['Local crafts', 'Chess', 'History', 'Cooking'],
      true, interval '757 days 2 hours',
      'Small screws, big family. My grandfather opened the watch shop in 1926, three years after he got off the boat; my father moved it to Rue de Rome; I moved it nowhere. Lunch is at noon, precisely, manti with yoghurt, and two chairs are kept empty for whoever turns up. If your watch has stopped, bring it. Repairs under ten minutes are free, and so is my account of Marseille as it was.'
    ),
    (
      'moinaecha.soilihi@example.com', 'Moinaecha Soilihi', 'Moinaecha', 'Soilihi', 34, 'France', 'Marseille', true,
      'School cook, wedding singer', 'Belle de Mai, Marseille', array['Cooking', 'Dancing', 'Live music', 'Festivals'],
      true, interval '172 days 9 hours',
      'Three hundred and twelve lunches a day at a primary school in the Belle de Mai, and I remember who hates carrots. I came from Moroni when I was six. At our big weddings I sing and clap from Friday to Monday, and I''ve taken along German, Breton, even Parisian guests, in borrowed cloth. They danced all right. Ask before photographing the aunties, and do accept the second plate.'
    ),
    (
      'clement.honorat@example.com', 'Clément Honorat', 'Clément', 'Honorat', 46, 'France', 'Marseille', false,
      'Owns eleven twelfths of a boat', 'Endoume, Marseille', array['Sailing', 'Fishing', 'Astronomy', 'Reading'],
      true, interval '507 days 22 hours',
      'I own eleven twelfths of a wooden boat. The missing twelfth is rot. She is a pointu, built in 1951, six metres, moored in the Vallon des Auffes, and most of what I earn teaching maths goes into her seams. In exchange I sail out alone on Wednesdays while the pupils imagine me marking. One summer soon: Corsica, Elba, then see. I will be needing harbours with somebody''s floor nearby.'
    ),
    (
      'josiane.pellegrin@example.com', 'Josiane Pellegrin', 'Josiane', 'Pellegrin', 70, 'France', 'Marseille', true,
      'Pétanque at five', 'Le Panier, Marseille', array['Street food', 'Dogs'],
      true, interval '361 days 16 hours',
      'Point or shoot, that''s the first thing I ask a new neighbour. I shoot. Every day at five, in Le Panier, and the men pretend not to mind losing. I''ll provide pastis, a straw hat and corrections to your wrist.'
    ),
    (
      'tristan.aubagnac@example.com', 'Tristan Aubagnac', 'Tristan', 'Aubagnac', null, 'France', 'Marseille', false,
      'Hello', 'Marseille', array[]::text[],
      false, interval '7 days 3 hours',
      null
    ),
    (
      'enora.leguillouzic@example.com', 'Enora Le Guillouzic', 'Enora', 'Le Guillouzic', 26, 'France', 'Nantes', true,
      'Greases an elephant''s knees', 'Île de Nantes, Nantes', array['Local crafts', 'Museums', 'Festivals', 'Cooking'],
      true, interval '293 days 7 hours',
      'Yes, I have driven the elephant. Twelve metres high, steam out of the trunk, and children who believe every second of it. My actual job is greasing its knees. I trained as a farm mechanic near Pontivy and I''m the only one in the workshop who can also milk. If you visit I''ll try to get you onto the gantry before opening time, then it''s galettes at my place, eggs courtesy of Dad''s hens.'
    ),
    (
      'gilles.rabouin@example.com', 'Gilles Rabouin', 'Gilles', 'Rabouin', 60, 'France', 'Nantes', true,
      'Muscadet, improving since 1999', 'Vertou, Nantes', array['Wine', 'Gardening', 'Live music', 'Cheese'],
      true, interval '744 days 10 hours',
      'Muscadet has a bad reputation and I''m partly to blame, having made some terrible ones in the nineties. They''re better now. Fourteen hectares, half an hour from the cathedral by bus. In September I take anybody who can bend: eight days, soup, a dormitory above the press, accordion on the final night. Poles and Catalans are my favourites because they sing while they cut. Bad backs wash buckets.'
    ),
    (
      'ousmane.tandia@example.com', 'Ousmane Tandia', 'Ousmane', 'Tandia', 41, 'France', 'Nantes', true,
      'First tram of the day', 'Bellevue, Nantes', array['Football', 'Volunteering', 'Cooking', 'Running'],
      true, interval '445 days 1 hour',
      'I drive the first tram, line 1, out of the depot before half past four. I like it. Bakers, cleaners, students asleep upright, and then the Loire turns pink at Chantiers Navals. I am from Kayes, by way of Montreuil. On Wednesdays I coach the under-twelves in Bellevue and we have never won anything apart from a raffle. If you stay with us my wife makes mafé and my sons make you play.'
    ),
    (
      'maelys.pavageau@example.com', 'Maëlys Pavageau', 'Maëlys', 'Pavageau', 21, 'France', 'Nantes', true,
      'Poèmes à la colle de farine', 'Chantenay, Nantes', array['Poetry', 'Writing', 'Street art', 'Train journeys', 'Vegetarian food'],
      true, interval '105 days 12 hours',
      'Étudiante en orthophonie, donc je passe mes journées à écouter les gens chercher leurs mots. Le soir, j''en cherche aussi : j''écris des poèmes que je colle sur les abribus, à la colle de farine, parfois avec des fautes. Jamais sortie de France, à part Jersey sous la pluie. L''été prochain je pars trois mois, Lisbonne, Naples, Sarajevo si les sous suivent, et je préfère dormir chez quelqu''un qu''à l''hôtel.'
    ),
    (
      'herve.guilbaud@example.com', 'Hervé Guilbaud', 'Hervé', 'Guilbaud', 53, 'France', 'Nantes', false,
      'Deaf traveller, forty-three notebooks', 'Doulon, Nantes', array['Languages', 'Museums', 'Craft beer', 'Painting'],
      true, interval '529 days 14 hours',
      'Being deaf makes travelling easier, in my opinion. I''ve pointed, drawn and mimed my way through Albania, Korea and my in-laws. I design exhibition panels and, for fun, beer labels. With deaf hosts I sign (LSF, some International Sign); with hearing ones a notebook is fine, and I keep them all, forty-three so far, full of strangers'' handwriting about soup, football and mothers. Please leave the light on at dinner.'
    ),
    (
      'cecile.hautbois@example.com', 'Cécile Hautbois', 'Cécile', 'Hautbois', 37, 'France', 'Nantes', false,
      'Midwife with panniers', 'Zola, Nantes', array['Cycling', 'Camping', 'Swimming', 'Baking'],
      true, interval '187 days 19 hours',
      'Eleven nights of deliveries, then ten days off in a row, and on the first free morning I load the bicycle. I''m the guest who arrives wet, asks for the garden hose, eats everything and is in bed by nine. I bring salted caramels. In July they melt.'
    ),
    (
      'kaori.minagawa@example.com', 'Kaori Minagawa', 'Kaori', 'Minagawa', 45, 'France', 'Nantes', true,
      'Gardener, mostly moss', 'Île de Versailles, Nantes', array['Gardening', 'Tea', 'Meditation', 'Vegetarian food'],
      true, interval '616 days 6 hours',
      'Moss wants to be left alone, so I am employed to do very little, very carefully. I look after a Japanese garden on an island in the Erdre. Before that, Kanazawa; before that, an insurance office. Visitors may rake with me on Mondays. I steam buns, drink too much tea, and my neighbour Yvette has taught me to swear at slugs in the local dialect. There is a spare futon, a real one.'
    ),
    (
      'wiebke.thormann@example.com', 'Wiebke Thormann', 'Wiebke', 'Thormann', 39, 'Germany', 'Berlin', true,
      'Signals, U-Bahn, night shift', 'Neukölln, Berlin', array['Cycling', 'Train journeys', 'Craft beer', 'Board games'],
      true, interval '376 days 11 hours',
      'If your U-Bahn stood still outside Gleisdreieck one night last winter, that was a relay from 1984, and I changed it, lying on my stomach. I do signals. I grew up in Cuxhaven, I still say Moin, and Berliners still punish me for it. Guests I take to Tempelhof field on borrowed bikes, with kites, and afterwards round the corner shops of my street in order of friendliness. It''s a short list.'
    ),
    (
      'cemal.tasdemir@example.com', 'Cemal Taşdemir', 'Cemal', 'Taşdemir', 62, 'Germany', 'Berlin', true,
      'Alterations and beans', 'Kreuzberg, Berlin', array['Gardening', 'Cooking', 'Tea', 'Fashion'],
      true, interval '831 days 8 hours',
      'Trousers up, trousers down, zip, zip, zip. That is my week. On Sundays we are at the allotment in Britz, with beans, dill, and a vine from Malatya which the rules forbid and the chairman adores. Bring nothing. Tell us what people grow where you come from.'
    ),
    (
      'friederike.nagorny@example.com', 'Fritzi', 'Friederike', 'Nagorny', 22, 'Germany', 'Berlin', false,
      'Club lights, wants lambs', 'Friedrichshain, Berlin', array['Nightlife', 'Volunteering', 'Wildlife', 'Live music'],
      true, interval '88 days 4 hours',
      'Fog machine fluid tastes sweet, don''t ask. I do the lights in a club by the Spree, Thursday to Monday, and haven''t seen a normal noon in ages. So travelling, for me, means daylight! Fields, lambs, coffee with an actual grandmother. I''m happiest on farms where somebody needs fences painted. No parties please, and yes, I know how that sounds coming from Berlin.'
    ),
    (
      'yousef.darwazeh@example.com', 'Yousef Darwazeh', 'Yousef', 'Darwazeh', 34, 'Germany', 'Berlin', true,
      'Builds ouds from wardrobes', 'Neukölln, Berlin', array['Live music', 'Local crafts', 'Cooking', 'Poetry', 'Coffee'],
      true, interval '514 days 10 hours',
      'An oud has eleven strings and more than eleven ways to go wrong. I build them in a basement in Neukölln, from walnut when I can get it, from old German wardrobes when I can''t. I learned in Aleppo, and my master''s drawings came here folded in my shoe. On the last Friday of the month the workshop becomes a concert: planks for seats, lentil soup, shoes by the door. Overnight guests sleep among the shavings, which are warm.'
    ),
    (
      'detlef.rehwald@example.com', 'Detlef Rehwald', 'Detlef', 'Rehwald', 70, 'Germany', 'Berlin', true,
      'Former drawer of wrong maps', 'Pankow, Berlin', array['History', 'Hiking', 'Museums', 'Chess'],
      true, interval '683 days 21 hours',
      'They had us draw the maps wrong on purpose. A bend in the road moved two hundred metres, a barracks turned into forest; I was a cartographer in East Berlin and good at mistakes. Since 1990 I have corrected things for pleasure. With guests I walk where the border ran and show them what stood there. Five hours, one sausage stop, any weather. At the Bornholmer bridge I tell where I was that night: in bed with a fever, and nobody woke me.'
    ),
    (
      'talia.rosenzweig@example.com', 'Talia Rosenzweig', 'Talia', 'Rosenzweig', 30, 'Germany', 'Berlin', false,
      'Carries pianos upstairs', 'Moabit, Berlin', array['Diving', 'Swimming', 'Reading', 'Vegetarian food'],
      true, interval '225 days 13 hours',
      'Fourth floor, no lift, upright piano: a normal Tuesday. I work for a women''s removal firm in Moabit. Haifa is home, and complicated. Holidays I spend under water, where nothing weighs anything. I offer strong arms to any host who happens to be moving that week.'
    ),
    (
      'yen.pham@example.com', 'Yen Pham', 'Yen', 'Pham', 48, 'Germany', 'Berlin', false,
      'Flowers at the station', 'Lichtenberg, Berlin', array['Gardening', 'Beaches', 'Cooking'],
      false, interval '119 days',
      'At half past three the lorries from Holland come, and by five I have chosen. Ranunculus, stock, sweet peas if the price is human. My stand is at the station in Lichtenberg, twenty-two years, three landlords. My mother came in 1987 to sew for the GDR; I followed at fourteen. I have travelled very little and want to. First a tulip field, an actual one. Then Đà Nẵng, to show my husband the beach.'
    ),
    (
      'lennart.buhse@example.com', 'Lennart Buhse', 'Lennart', 'Buhse', 27, 'Germany', 'Berlin', true,
      'Spare room in Wedding', 'Wedding, Berlin', array['Video games', 'Comics', 'Coffee', 'Climbing'],
      true, interval '15 days 5 hours',
      null
    ),
    (
      'marlies.gerlach@example.com', 'Marlies Gerlach', 'Marlies', 'Gerlach', 58, 'Germany', 'Leipzig', true,
      'Lead type, handle with care', 'Plagwitz, Leipzig', array['Museums', 'Reading', 'History', 'Local crafts'],
      true, interval '659 days 3 hours',
      'Lead type is poisonous, heavy and the love of my life. I run the composing room of a printing museum in Plagwitz, where schoolchildren set their names back to front and are astonished when they come out right. In the autumn of 1989 I walked round the ring road with a candle and a pram. I have told the story often and I''ll tell it to you, along the same route, at the pace of the pram.'
    ),
    (
      'konrad.wittig@example.com', 'Konrad Wittig', 'Konrad', 'Wittig', null, 'Germany', 'Leipzig', true,
      'Props and kayaks', 'Lindenau, Leipzig', array['Kayaking', 'Theatre', 'Opera', 'Birdwatching'],
      true, interval '395 days 17 hours',
      'Do you need a severed head by Friday? Props are my trade, for the theatre, the opera, once a dentists'' congress. In my shed on the Karl-Heine canal are three kayaks and a real owl. I take people out on the water after work. Bring a jumper and don''t wake the owl.'
    ),
    (
      'aizada.toktogulova@example.com', 'Aizada Toktogulova', 'Aizada', 'Toktogulova', 29, 'Germany', 'Leipzig', true,
      'Grass, lakes and borrowed horses', 'Südvorstadt, Leipzig', array['Horse riding', 'Wildlife', 'Mountains', 'Swimming', 'Cooking'],
      true, interval '254 days 2 hours',
      'My first horse was called Comma. In Naryn I learned to ride and to read in the same winter, at five, so it made sense. Today I study how grass returns to the old coal mines south of Leipzig, the ones that are lakes now. On weekends I muck out a stable in Markkleeberg in return for gallops. Visitors get beshbarmak on the first evening; from then on they are family and wash the pot.'
    ),
    (
      'jorg.pfutzner@example.com', 'Jörg Pfützner', 'Jörg', 'Pfützner', 50, 'Germany', 'Leipzig', true,
      'Briefträger mit Schrebergarten', 'Gohlis, Leipzig', array['Gardening', 'Craft beer', 'Cycling', 'Board games'],
      true, interval '568 days 18 hours',
      'Zusteller in Gohlis, 412 Briefkästen, 31 Hunde, davon einer ein Problem. Ich weiß, wer Urlaubskarten bekommt und wer nur Rechnungen, und sage nichts. Nach Feierabend Schrebergarten: Rhabarber, Skatrunde, dazu eine Gose, die man mögen lernen muss. Wer bei mir unterkommt, kriegt eine Tour mit dem gelben Rad, sonntags natürlich, ohne Post. Selber reise ich am liebsten dahin, wo die Briefmarken schön sind.'
    ),
    (
      'paula.zschoche@example.com', 'Paula Zschoche', 'Paula', 'Zschoche', 20, 'Germany', 'Leipzig', false,
      'Roofer in training, climber', 'Reudnitz, Leipzig', array['Climbing', 'Mountains', 'Camping', 'Running'],
      true, interval '41 days 9 hours',
      'Sandstone rules: no chalk, no metal, knots only, and you sign the summit book. Grandpa taught me when I was six, in gym shoes, shouting. Roofing exam in two months, then off: Meteora, Wadi Rum, the Peak District. I own nothing nice but I can mend your gutter.'
    ),
    (
      'enno.hartleb@example.com', 'Enno Hartleb', 'Enno', 'Hartleb', 35, 'Germany', 'Leipzig', false,
      'Still deciding', 'Leipzig', array[]::text[],
      false, interval '9 days 14 hours',
      null
    ),
    (
      'antje.brodersen@example.com', 'Antje Brodersen', 'Antje', 'Brodersen', 55, 'Germany', 'Hamburg', true,
      'Crane driver, fifty metres up', 'Waltershof, Hamburg', array['Gardening', 'Dogs', 'Street food', 'Photography'],
      true, interval '732 days 20 hours',
      'Fifty metres up you see the weather before anyone else. I drive a container crane at Burchardkai; we were six women when I began and we are forty today. Each box is a surprise I''m not allowed to open. Off shift I stay on the ground with a vengeance: allotment, bulldog, church flea markets. I show people the port from the number 62 ferry, ordinary ticket, upper deck, fish roll in hand, gulls at your own risk.'
    ),
    (
      'tesfay.gebremariam@example.com', 'Tesfay Gebremariam', 'Tesfay', 'Gebremariam', 37, 'Germany', 'Hamburg', true,
      'Three cups, then a run', 'Wilhelmsburg, Hamburg', array['Coffee', 'Running', 'Volunteering', 'Cooking'],
      true, interval '480 days 12 hours',
      'Three cups. You don''t leave after the first, it would be rude, and after the third you are blessed and also late. I roast the beans in a pan in my kitchen in Wilhelmsburg; on those evenings the smoke alarm lives in a drawer. I drive a forklift, I have run the Hamburg marathon in 2:51, and I was born in Keren. Runners can meet me on the dyke at six, everyone else for the coffee.'
    ),
    (
      'jonte.clausen@example.com', 'Jonte Clausen', 'Jonte', 'Clausen', 23, 'Germany', 'Hamburg', true,
      'Shouts about eels on Sundays', 'St. Pauli, Hamburg', array['Sailing', 'Nightlife', 'Food markets', 'Festivals', 'Football', 'Surfing'],
      true, interval '131 days 7 hours',
      'Moin. Sunday, five o''clock, fish market, I''m the one yelling "and another eel on top". It''s a student job that got out of hand; there are videos. Couch is 1.80, ceiling''s low, shower''s moody, breakfast is whatever didn''t sell.'
    ),
    (
      'mareike.oltmanns@example.com', 'Mareike Oltmanns', 'Mareike', 'Oltmanns', 41, 'Germany', 'Hamburg', false,
      'Very small people, very big trips', 'Barmbek, Hamburg', array['Train journeys', 'Painting', 'Architecture', 'Museums'],
      true, interval '308 days 15 hours',
      'I glue very small people onto very small platforms. A model railway in the Speicherstadt employs me: last month I did a wedding, an arrest and ninety commuters. When I have time off I want real distances. With a rail pass and a sketchbook I go and see what we have still to build, counting lamp posts, measuring benches, getting looks from the police. Hosts with a loft full of trains, I understand you.'
    ),
    (
      'zbigniew.kurek@example.com', 'Zbigniew Kurek', 'Zbigniew', 'Kurek', 49, 'Germany', 'Hamburg', true,
      'Ship''s cook, now moored', 'Harburg, Hamburg', array['Cooking', 'Sailing', 'Live music', 'Chess'],
      true, interval '804 days 16 hours',
      'Soup keeps a crew from mutiny. For eighteen years I cooked on freighters, Gdynia to Santos and back, and today I cook on a museum ship, where the stove at least stands still. Żurek, feijoada, adobo: each I learned from whoever was peeling beside me. I live on a barge in Harburg harbour. Guests get a hammock, because I have never got used to beds. On Tuesday evenings I play the accordion to the neighbours'' tugboat.'
    ),
    (
      'birgit.sievers@example.com', 'Birgit Sievers', 'Birgit', 'Sievers', 65, 'Germany', 'Hamburg', true,
      'Retired prompter, no longer whispering', 'Altona, Hamburg', array['Theatre', 'Volunteering', 'Baking', 'Languages'],
      true, interval '590 days 1 hour',
      'For thirty years I whispered for a living. Prompter, Low German theatre, in a box under the stage with a lamp and a bag of peppermints; the actors knew me by my breathing. Now I speak at full volume and it surprises people. Mondays I volunteer at the station mission and bring the night staff Franzbrötchen, home-made. The room where my son used to live is free. I''ll teach you six words of Platt, five of them rude.'
    ),
    (
      'dilan.erdem@example.com', 'Dilan Erdem', 'Dilan', 'Erdem', null, 'Germany', 'Hamburg', false,
      'Court interpreter, hand luggage only', 'Eimsbüttel, Hamburg', array['Dancing', 'Ceramics', 'Swimming', 'Languages', 'Yoga', 'Tango'],
      true, interval '160 days 23 hours',
      'Does anybody really enjoy a museum for more than fifty minutes? I time my visits. I''m a court interpreter, Kurdish, Turkish, German, which means saying "I" all day on behalf of somebody else, so in private I like things without words: a potter''s wheel, a pool lane, dancing till the cleaners come. I travel often and briefly, with no plan. Diyarbakır for my aunts, otherwise wherever the cheap bus goes.'
    )
) as person (
  email, name, first_name, last_name, age, country, city, is_searchable,
  bio, location, interests, has_portrait, joined, biography
)
-- The same account in each database, as a UUID of version 4, so that its portrait has the same address.
cross join lateral (
  select overlay(overlay(md5(person.email) placing '4' from 13) placing '8' from 17)::uuid as id
) as account
order by person.joined desc;
