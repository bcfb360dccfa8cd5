-- Users of the demo data, from the rest of the world. All are invented, and their addresses cannot receive mail.
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
      'morag.sinclair@example.com', 'Morag Sinclair', 'Morag', 'Sinclair', 61, 'United Kingdom', 'Edinburgh', true,
      'Retired ferry pilot', 'Leith, Edinburgh', array['Sailing', 'Tea', 'Reading'],
      true, interval '402 days 3 hours',
      'For thirty years I brought ships up the Forth in every sort of weather, and I still read the sky before I read the paper. These days I have a wee clinker dinghy at Granton and a kettle that hardly gets cold. I take guests along the shore from Leith to Cramond when the tide allows, with a stop to explain the islands, and a second stop for cake.'
    ),
    (
      'callum.geddes@example.com', 'Callum Geddes', 'Callum', 'Geddes', 23, 'United Kingdom', 'Edinburgh', true,
      'Ghost-tour guide, actor when they let me', 'Marchmont, Edinburgh', array['Acting', 'Theatre', 'History', 'Nightlife'],
      true, interval '97 days 14 hours',
      'Three times a night, in a cloak, I tell strangers about the plague. The cloak belongs to the company and smells of it. What I''d rather show you is free: the graveyard at Greyfriars without the dog story, the closes at six in the morning when only the street sweepers are about, and the chip shop where the argument over salt and sauce gets settled. (It''s sauce.)'
    ),
    (
      'priyanka.raghunathan@example.com', 'Priyanka Raghunathan', 'Priyanka', 'Raghunathan', 38, 'United Kingdom', 'Edinburgh', true,
      'Astronomer, mostly clouded out', 'Newington, Edinburgh', array['Astronomy', 'Cooking', 'Board games', 'Hiking', 'Vegetarian food'],
      true, interval '655 days 20 hours',
      'Ask me about dust. I study the stuff between the stars, up on Blackford Hill, and most of what I do is fix other people''s code. Chennai to Edinburgh was eleven years ago. On clear winter nights I lend guests my small telescope and make rasam in a flask; on the other three hundred and forty we go to the pub.'
    ),
    (
      'fergus.abernethy@example.com', 'Fergus Abernethy', 'Fergus', 'Abernethy', 67, 'United Kingdom', 'Edinburgh', true,
      'Bookbinder and all-weather swimmer', 'Portobello, Edinburgh', array['Swimming', 'Local crafts', 'Reading', 'Writing'],
      true, interval '811 days 6 hours',
      'Cold water first, then work: that has been the order since 1989. I bind books in a shed off the High Street in Portobello, and at seven each morning I am in the sea with a dozen others who ought to know better. Visitors may join, scream, and be given porridge. I also show people how a book is sewn. It takes an afternoon, and you leave with a notebook and a sore thumb.'
    ),
    (
      'ilse.vandermeer@example.com', 'Ilse Vandermeer', 'Ilse', 'Vandermeer', 52, 'United Kingdom', 'Edinburgh', true,
      'Cheesemonger from Ghent', 'Stockbridge, Edinburgh', array['Cheese', 'Food markets', 'Craft beer', 'Museums'],
      true, interval '288 days 9 hours',
      'There is a Wednesday in every cheesemonger''s week when the van from Lanarkshire is late, and that is the day to visit me. I came from Ghent for one summer, in 1998. You will taste things with me at the counter in Stockbridge, blindfold if you are brave, and on Sunday we take the ends and rinds down to the Water of Leith and have a picnic of mistakes.'
    ),
    (
      'rory.tulloch@example.com', 'Rory Tulloch', 'Rory', 'Tulloch', 30, 'United Kingdom', 'Edinburgh', false,
      'Stroke nurse, four nights on, four days away', 'Gorgie, Edinburgh', array['Train journeys', 'Cooking', 'Live music'],
      true, interval '43 days 22 hours',
      'Night shift on the stroke ward, four on, four off, and in the four off I leave. I once crossed Slovenia entirely on buses with a man who sold accordions. At home in Gorgie I''m asleep until three, so I make a hopeless host and I''ll not pretend otherwise. As a guest I''m tidy, and I cook a fair dal.'
    ),
    (
      'shona.baillie@example.com', 'Shona Baillie', 'Shona', 'Baillie', null, 'United Kingdom', 'Edinburgh', false,
      'Chess on Tuesdays', 'Morningside, Edinburgh', array['Chess', 'Dogs', 'Birdwatching'],
      true, interval '519 days 11 hours',
      'Och, I only joined because my niece filled in the form. The dog is called Provost, the chess club meets on Tuesdays above the church hall, and I have been to Orkney nineteen times and to France once. I mean to even that up.'
    ),
    (
      'delroy.atkinson@example.com', 'Delroy Atkinson', 'Delroy', 'Atkinson', 58, 'United Kingdom', 'Bristol', true,
      'Bus driver, keeper of a sound system', 'St Pauls, Bristol', array['Live music', 'Festivals', 'Dancing', 'Street food', 'History'],
      true, interval '733 days 4 hours',
      'Up at four for the early bus out of Lawrence Hill, home by two, and then the shed: two scoop bins my father built in 1974, still loud enough to loosen the neighbours'' tiles. If you come in July I''ll walk you through St Pauls before Carnival, when the speakers are going up and somebody is always short of an extension lead. I knew most of the men in the old photographs.'
    ),
    (
      'imogen.fairweather@example.com', 'Imogen Fairweather', 'Imogen', 'Fairweather', 34, 'United Kingdom', 'Bristol', true,
      'I sew hot-air balloons', 'Bedminster, Bristol', array['Local crafts', 'Camping', 'Photography'],
      true, interval '176 days 8 hours',
      'Ripstop nylon, mostly, and several kilometres of thread to a balloon. Sewing them is my job; flying in them is what I do with the wage. In August I can get a guest onto the field at Ashton Court before dawn, where you will be handed a rope and told not to let go. Bring gloves.'
    ),
    (
      'tomasz.wieczorek@example.com', 'Tomasz Wieczorek', 'Tomasz', 'Wieczorek', 45, 'United Kingdom', 'Bristol', false,
      'Scaffolder with a fishing rod', 'Fishponds, Bristol', array['Fishing', 'Camping', 'Cooking'],
      true, interval '361 days 17 hours',
      'By day I put up scaffolding, by evening I am at the river. We do not host at present because the twins have the spare room. Each autumn I go somewhere with good water and a cheap bed: Drava, Minho, Shannon so far. From Gdynia I brought a smoked-eel recipe.'
    ),
    (
      'hodan.warsame@example.com', 'Hodan Warsame', 'Hodan', 'Warsame', 27, 'United Kingdom', 'Bristol', true,
      'Midwife, Easton born', 'Easton, Bristol', array['Food markets', 'Running', 'Poetry', 'Tea'],
      true, interval '58 days 2 hours',
      'Some nights I deliver three babies and still make the seven o''clock bus. Guests get Easton on foot: the railway path, the city farm, the grocer''s on Stapleton Road that I grew up above, the curry place that has never had a sign. After that I sleep.'
    ),
    (
      'gwilym.pryce@example.com', 'Gwilym Pryce', 'Gwilym', 'Pryce', 72, 'United Kingdom', 'Bristol', true,
      'Bridge inspector, retired', 'Clifton, Bristol', array['Architecture', 'History', 'Train journeys', 'Opera', 'Tea'],
      true, interval '870 days 13 hours',
      'Brunel never saw his bridge finished, which I tell everybody within a minute of meeting them. I spent twenty-six years looking after lesser bridges for the county, hanging under them in a cradle with a hammer, listening. A sound rivet rings. Come to Clifton and I shall walk you underneath, into the vaults if they are open, and then to a bench on the Downs with a flask. My daughter calls this the long way round to a cup of tea.'
    ),
    (
      'kit.lockyer@example.com', 'Kit Lockyer', 'Kit', 'Lockyer', 19, 'United Kingdom', 'Bristol', false,
      'Zoology student, one rucksack', 'Stokes Croft, Bristol', array['Wildlife', 'Birdwatching', 'Train journeys', 'Street art', 'Volunteering'],
      true, interval '11 days 5 hours',
      'Nineteen, zoology, no fixed plan after May. So far: Interrail with a broken strap, six weeks counting puffins on Skomer, a bus through Albania where somebody''s gran gave me figs in a sock. My room in Stokes Croft is too small for guests, honestly it''s too small for me. But I''ll wash up anywhere I stay, and I can identify most of what is living in your garden.'
    ),
    (
      'nadia.ferris@example.com', 'Nadia Ferris', 'Nadia', 'Ferris', null, 'United Kingdom', 'Bristol', false,
      'New here', 'Bristol', array[]::text[],
      false, interval '4 days 19 hours',
      null
    ),
    (
      'yasmin.akhtar@example.com', 'Yasmin Akhtar', 'Yasmin', 'Akhtar', 29, 'United Kingdom', 'Leeds', true,
      'Baker in a former taxi garage', 'Harehills, Leeds', array['Baking', 'Food markets', 'Coffee', 'Street food'],
      true, interval '224 days 7 hours',
      'At half past two in the morning Harehills smells of my bread and of nobody else''s. I bake in an old taxi garage: naan, roti, and a Yorkshire curd tart which my mum calls an insult to both grandmothers. Guests who can stand the hour may come and shape dough. Everyone else gets Kirkgate Market, with instructions on who to haggle with and who to leave well alone.'
    ),
    (
      'brian.oldroyd@example.com', 'Brian Oldroyd', 'Brian', 'Oldroyd', 76, 'United Kingdom', 'Leeds', true,
      'Mill engineer, second baritone', 'Kirkstall, Leeds', array['Live music', 'History', 'Gardening'],
      true, interval '690 days 1 hour',
      'Now then. I were forty-one year in the engine house of a mill that is flats these days, and I can still tell you which window was mine. I play second baritone in a brass band, badly since the teeth. I''ll take thee down the canal to Kirkstall, show thee how a lock works, and let thee work it. Clothes you don''t mind mucky. There''s a pie shop at the far end, and I''ve never once got a visitor past it.'
    ),
    (
      'chidi.nwafor@example.com', 'Chidi Nwafor', 'Chidi', 'Nwafor', 33, 'United Kingdom', 'Leeds', true,
      'Sunday referee, weekday rust scientist', 'Headingley, Leeds', array['Football', 'Running', 'Cooking', 'Jazz'],
      true, interval '140 days 16 hours',
      'Both managers shouted at me last Sunday, in two languages, and I enjoyed every minute. I referee amateur football, and from Monday I am finishing a doctorate on rust. Enugu is home, Headingley is where my kettle is. With me you would see this city from the touchline: council pitches, jollof on Roundhay Road, and a launderette with the best political debate in the north.'
    ),
    (
      'rosalind.thackray@example.com', 'Rosalind Thackray', 'Rosalind', 'Thackray', 48, 'United Kingdom', 'Leeds', true,
      'Mends old cloth', 'Meanwood, Leeds', array['Museums', 'Gardening', 'Local crafts', 'Volunteering', 'Vegetarian food'],
      true, interval '467 days 12 hours',
      'If a banner from 1911 has been folded in a loft, sooner or later it comes to me. I conserve textiles: trade-union silk, samplers, once a jester''s cap full of moths. After a day at the bench I want soil, so there is an allotment at Meanwood with beans, leeks and a borrowed hen. Stay in September and we shall eat it. I also volunteer at the old mill museum and have keys.'
    ),
    (
      'marek.dvorsky@example.com', 'Marek Dvorský', 'Marek', 'Dvorský', 41, 'United Kingdom', 'Leeds', false,
      'Warehouse nights, board-game days', 'Holbeck, Leeds', array['Board games', 'Painting', 'Comics'],
      false, interval '305 days 23 hours',
      'The truth: I have had no visitors yet, and I stay hidden until the ceiling is repaired. Nights in a parcel warehouse; afterwards I paint small plastic goblins. In Košice I was a typesetter. Holidays I spend at game fairs, with sandwiches.'
    ),
    (
      'josie.lumb@example.com', 'Josie Lumb', 'Josie', 'Lumb', 24, 'United Kingdom', 'Leeds', false,
      'Dental nurse, up a hill at weekends', 'Leeds', array['Hiking', 'Dogs'],
      false, interval '19 days 10 hours',
      null
    ),
    (
      'stavroula.mantzari@example.com', 'Stavroula Mantzari', 'Stavroula', 'Mantzari', 66, 'Greece', 'Athens', true,
      'Μαγειρεύω εγώ, πλένετε εσείς', 'Kypseli, Athens', array['Cooking', 'Food markets', 'Coffee'],
      true, interval '598 days 15 hours',
      'Η γιαγιά μου ήρθε από τη Σμύρνη με μια κατσαρόλα και μια συνταγή για σουτζουκάκια· η κατσαρόλα τρύπησε, η συνταγή όχι. Μένω στην Κυψέλη πενήντα χρόνια, στον τέταρτο, χωρίς ασανσέρ. Τους φιλοξενούμενους τους πηγαίνω στη λαϊκή της γειτονιάς να διαλέξουμε ντομάτες, κι ύστερα καθόμαστε στη Φωκίωνος Νέγρη για καφέ και σχολιάζουμε τους περαστικούς. Μαγειρεύω εγώ, τα πιάτα τα πλένετε εσείς.'
    ),
    (
      'nikos.petrakos@example.com', 'Nikos Petrakos', 'Nikos', 'Petrakos', 39, 'Greece', 'Athens', true,
      'Printer of posters', 'Exarchia, Athens', array['Street art', 'Theatre', 'Nightlife', 'Local crafts'],
      true, interval '332 days 18 hours',
      'Ink under the nails since I was fourteen. The shop in Exarchia has two Heidelberg presses, one calm and one not, and we still print for plays, strikes and weddings, sometimes the same week. I like to walk with guests at night and read the walls: who answered whom, which stencil is older.'
    ),
    (
      'eleftheria.daskalou@example.com', 'Eleftheria Daskalou', 'Eleftheria', 'Daskalou', 31, 'Greece', 'Athens', true,
      'Archaeologist of car parks and drains', 'Koukaki, Athens', array['Archaeology', 'History', 'Cinema', 'Street food', 'Running'],
      true, interval '128 days 5 hours',
      'Wherever Athens digs a hole, someone like me has to stand beside it with a clipboard. A gas pipe today, a Roman drain tomorrow, six graves under a petrol station. I leave the Acropolis to others. I know which basements keep a piece of the city wall behind glass, next to the cleaning cupboard.'
    ),
    (
      'ermal.hoxhallari@example.com', 'Ermal Hoxhallari', 'Ermal', 'Hoxhallari', 44, 'Greece', 'Athens', true,
      'Stonemason', 'Petralona, Athens', array['Architecture', 'Dogs', 'Hiking'],
      true, interval '745 days 2 hours',
      'Dry stone, no cement, that is how my father built in Përmet and how I build when they let me. I crossed the mountains on foot in 1997, a boy of fifteen, and now I repair neoclassical houses for people who spell my name wrong. Sundays belong to Philopappou hill with my daughters and our dog.'
    ),
    (
      'dimosthenis.vlachakis@example.com', 'Dimos Vlachakis', 'Dimosthenis', 'Vlachakis', 25, 'Greece', 'Athens', false,
      'Bouzouki, ferries, repeat', 'Pangrati, Athens', array['Live music', 'Nightlife', 'Poetry', 'Beaches'],
      true, interval '66 days 21 hours',
      'I play rebetika wherever somebody puts a plate of olives in front of me. My flat in Pangrati is let, which pays for the strings. So I am looking to be hosted, preferably near old men who know the words better than I do.'
    ),
    (
      'blessing.osagiede@example.com', 'Blessing Osagiede', 'Blessing', 'Osagiede', 36, 'Greece', 'Athens', true,
      'Braids, alto, egusi', 'Kypseli, Athens', array['Fashion', 'Cooking', 'Dancing', 'Languages'],
      true, interval '411 days 5 hours',
      'You can learn all of Kypseli from a salon chair. Braids take five hours, people talk, and I have heard this neighbourhood''s secrets in Greek, Edo, Amharic and Tagalog. I came from Benin City in 2011, and I sing alto in church. On Mondays I am closed; on Mondays, then, I take visitors round the African shops behind Amerikis Square, and home for soup if they behave.'
    ),
    (
      'katerina.zografou@example.com', 'Katerina Zografou', 'Katerina', 'Zografou', null, 'Greece', 'Athens', false,
      'Here to look around first', 'Athens', array['Beaches', 'Yoga', 'Cinema'],
      true, interval '27 days 13 hours',
      null
    ),
    (
      'anestis.kazantzoglou@example.com', 'Anestis Kazantzoglou', 'Anestis', 'Kazantzoglou', 70, 'Greece', 'Thessaloniki', true,
      'Bougatsa maker, pensioned off', 'Ano Poli, Thessaloniki', array['Baking', 'Live music', 'History', 'Coffee'],
      true, interval '822 days 9 hours',
      'Forty-four years I threw bougatsa dough in the air and only once did it land on a customer (a notary, he forgave me). The shop belongs to my nephew now. My people were refugees from Trebizond, so I also play the Pontic lyra, for which I have not been forgiven. I will bring you up along the old walls to where the sun goes down behind Olympus, with something warm in paper.'
    ),
    (
      'despina.tsakiri@example.com', 'Despina Tsakiri', 'Despina', 'Tsakiri', 28, 'Greece', 'Thessaloniki', true,
      'Children''s physio, loud on Sundays', 'Toumba, Thessaloniki', array['Football', 'Running', 'Street food'],
      true, interval '203 days 17 hours',
      'Black and white, obviously. My seat at Toumba was my grandfather''s, and I inherited his cough-drop tin with it. Between matches I am a physiotherapist for children, which needs about the same amount of shouting. I can get a guest into the stadium and teach them two songs that are fit to print. Afterwards we eat tripe soup at five in the morning with people who were strangers at kick-off.'
    ),
    (
      'levon.sahakyan@example.com', 'Levon Sahakyan', 'Levon', 'Sahakyan', 50, 'Greece', 'Thessaloniki', true,
      'Oud maker', 'Kalamaria, Thessaloniki', array['Local crafts', 'Jazz', 'Chess', 'Wine'],
      true, interval '559 days 22 hours',
      'Walnut for the back, spruce for the face. An oud takes me three months and I have stopped apologising for it. Yerevan trained me, love moved me to Kalamaria, and I stayed for the light on the gulf. Guests sit in the workshop as long as they like. I do not speak while gluing. Later I speak a lot, and there is apricot brandy.'
    ),
    (
      'fotini.gavriilidou@example.com', 'Fotini Gavriilidou', 'Fotini', 'Gavriilidou', 42, 'Greece', 'Thessaloniki', true,
      'Projectionist', 'Ladadika, Thessaloniki', array['Cinema', 'Festivals', 'Photography', 'Wine'],
      true, interval '371 days 3 hours',
      'Every November I see sixty films through a small square of glass. The festival is my harvest. The rest of the year I film weddings, repair 16-millimetre machines no one asked me to repair, and keep a tiny ciné-club in a warehouse in Ladadika where the chairs come from four different dentists. Tell me a film nobody you know has seen and I''ll find you a sofa.'
    ),
    (
      'thodoris.lappas@example.com', 'Thodoris Lappas', 'Thodoris', 'Lappas', 35, 'Greece', 'Thessaloniki', false,
      'Long-haul driver', 'Stavroupoli, Thessaloniki', array['Languages', 'Swimming', 'Craft beer'],
      true, interval '150 days 0 hours',
      'Oranges to Gdańsk, chairs back from Poland, sleep, again. The law gives me long rests in places I did not choose, so I look up whoever is near: a walk, a beer, a swimming pool. I cannot host, I am hardly there.'
    ),
    (
      'myrto.xanthaki@example.com', 'Myrto Xanthaki', 'Myrto', 'Xanthaki', 21, 'Greece', 'Thessaloniki', false,
      'Draws balconies', 'Thessaloniki', array['Architecture', 'Painting', 'Train journeys', 'Comics'],
      false, interval '35 days 16 hours',
      'What do you study when you can''t decide? Architecture, apparently. It''s my third year at Aristotle University and I share three rooms with a drummer, so hosting is out. I draw balconies. I''ve filled eleven notebooks with those of Thessaloniki, Izmir and Trieste, and this summer I''m going by train to draw the ones in Porto, if anyone there has a floor.'
    ),
    (
      'iordanis.moumtzis@example.com', 'Iordanis Moumtzis', 'Iordanis', 'Moumtzis', null, 'Greece', 'Thessaloniki', false,
      'Counts birds at the Axios delta', 'Evosmos, Thessaloniki', array['Birdwatching', 'Wildlife', 'Photography'],
      true, interval '638 days 4 hours',
      'Pelicans are late this year. I note it because I note everything: wind, water level, flamingos (2,140), stray dogs, hunters. Since retiring from the waterworks I drive out to the Axios delta at dawn four days in seven. When I first photographed flamingos there, people told me it was a trick. I would rather not be listed for now, my wife is unwell. Those who already have my address may ask me about birds whenever they want, and I shall answer at length.'
    ),
    (
      'kazuko.nishimura@example.com', '西村 和子', '和子', '西村', 81, 'Japan', 'Kyoto', true,
      '西陣の帯織り、六十年', 'Nishijin, Kyoto', array['Local crafts', 'Tea', 'Cooking'],
      true, interval '240 days 1 hour',
      '西陣で六十年、帯を織ってきました。機の音がやむと、かえって眠れません。若いころは休みもなく、旅といえば宮津の海へ一度きり。この歳になって外国の方とお茶を飲むようになり、いまでは毎週の楽しみです。狭い町家ですが、染め分けた糸や古い杼をお見せします。お昼は祖母ゆずりのにしんそばを一緒に作りましょう。足が悪いので、ご案内できるのは北野の天神さんの市までです。'
    ),
    (
      'haruto.inagaki@example.com', 'Haruto Inagaki', 'Haruto', 'Inagaki', 26, 'Japan', 'Kyoto', true,
      'Sake brewer in winter, climber in summer', 'Fushimi, Kyoto', array['Climbing', 'Mountains', 'Craft beer', 'Street food'],
      true, interval '92 days 11 hours',
      'Steam, rice, more steam. From October to March I live at the brewery in Fushimi. In summer I go climbing. I show visitors the wells, because the water is the whole story, then three small cups to compare. I learned English from skate videos. Please forgive some words.'
    ),
    (
      'ayumi.terauchi@example.com', 'Ayumi Terauchi', 'Ayumi', 'Terauchi', 40, 'Japan', 'Kyoto', true,
      'Bicycle mechanic', 'Demachiyanagi, Kyoto', array['Cycling', 'Coffee', 'Gardening', 'Vegetarian food', 'Food markets'],
      true, interval '478 days 19 hours',
      'The tofu shop below my flat starts its boiler at four, so I became a morning person by force. I repair bicycles: punctures, bent forks, roughly one unicycle per year. For guests I keep two spare ones with good brakes, and a route which avoids every famous temple, follows the Kamo river north until it turns to fields, and ends at a pickle seller who wants you to try nine kinds.'
    ),
    (
      'benoit.carlier@example.com', 'Benoît Carlier', 'Benoît', 'Carlier', 47, 'Japan', 'Kyoto', true,
      'Apprentice gardener, late starter', 'Higashiyama, Kyoto', array['Gardening', 'Meditation', 'Ceramics', 'Craft beer'],
      true, interval '702 days 8 hours',
      'Pulling moss apart with tweezers is not what my parents in Namur imagined. Six years as an apprentice, and last spring my master let me prune a pine without watching. He was watching from the roof. I am happy to explain to visitors what they are looking at in a garden: why that stone, why the gravel, who sweeps it and how often.'
    ),
    (
      'shinji.okumura@example.com', 'Shinji Okumura', 'Shinji', 'Okumura', 55, 'Japan', 'Kyoto', true,
      'Taxi driver, jazz on low', 'Yamashina, Kyoto', array['Jazz', 'Coffee', 'Photography'],
      true, interval '317 days 14 hours',
      'Passengers ask me the same four questions, so here are the answers: yes, it is always this crowded; no, I have not met a geisha socially; the second-best view is Daigo; the best I keep for friends. Twenty-one years in my taxi. On days off I will drive you through Yamashina to a kissaten whose owner has eleven thousand records and no menu.'
    ),
    (
      'mei.tachibana@example.com', 'Mei Tachibana', 'Mei', 'Tachibana', 22, 'Japan', 'Kyoto', false,
      'Share house, nine people, one persimmon tree', 'Kitashirakawa, Kyoto', array['Reading', 'Train journeys', 'Video games'],
      true, interval '7 days 12 hours',
      'I fold proteins on a computer, and paper cranes when it crashes. It crashes a lot. In the holidays I take only local trains, all day, and read detective novels between stations where nobody gets off.'
    ),
    (
      'ritsuko.hamaguchi@example.com', 'Ritsuko Hamaguchi', 'Ritsuko', 'Hamaguchi', null, 'Japan', 'Kyoto', false,
      'Former river boatwoman', 'Arashiyama, Kyoto', array['Kayaking', 'Wildlife', 'Hiking', 'Tea'],
      true, interval '574 days 6 hours',
      'Boats were men''s work when I began poling on the Hozu, and the first captain gave me a broom. I stayed. Now I''m on land, in the ticket hut, because of a shoulder. My kayak hangs in the hallway, and people who have found me through friends sometimes come paddling above Kameoka in May. All winter I am in Kyushu for the hot springs.'
    ),
    (
      'daisuke.morimoto@example.com', 'Daisuke Morimoto', 'Daisuke', 'Morimoto', 43, 'Japan', 'Osaka', true,
      'Eight stools and a fryer', 'Shinsekai, Osaka', array['Street food', 'Nightlife', 'Cooking', 'Live music'],
      true, interval '265 days 20 hours',
      'No double dipping! It''s painted on my wall in six languages and I still have to say it forty times a night. My kushikatsu counter in Shinsekai seats eight. If you come through this page you get the ninth stool, beside the fryer, where you hear everything: the shogi club''s feuds, who owes whom, the baseball.'
    ),
    (
      'soonja.kang@example.com', 'Soon-ja Kang', 'Soon-ja', 'Kang', 68, 'Japan', 'Osaka', true,
      'Eleven kinds of kimchi', 'Tsuruhashi, Osaka', array['Food markets', 'Cooking', 'Languages'],
      true, interval '436 days 10 hours',
      'Jeju was my parents'' island, Tsuruhashi is mine. I''ve sold kimchi beside the railway arches since 1979, eleven sorts, and the one with oysters only to people I like. A young man showed me this site so that I can practise my English. Come with an empty bag, we taste our way round the market, then upstairs for pancakes. My husband will sing. I am sorry about that.'
    ),
    (
      'yuki.fujisawa@example.com', 'Yuki Fujisawa', 'Yuki', 'Fujisawa', 30, 'Japan', 'Osaka', true,
      'Vintage shop the size of a lift', 'Nakazakicho, Osaka', array['Fashion', 'Coffee', 'Photography', 'Street art', 'Local crafts'],
      true, interval '181 days 23 hours',
      'Somebody''s 1983 bowling shirt changed my life. I found it in a bin in Nakazakicho, sold it for ten times the price, and now I have a shop in which two customers is a crowd. I dress people for a living and I''d enjoy dressing you. We can make a whole day of it: flea market at Shitennoji, thread shop, coffee roaster, and a bathhouse with Mount Fuji painted slightly wrong.'
    ),
    (
      'thiago.nakandakari@example.com', 'Thiago Nakandakari', 'Thiago', 'Nakandakari', 37, 'Japan', 'Osaka', false,
      'Stage carpenter, São Paulo to Osaka', 'Taisho, Osaka', array['Theatre', 'Live music', 'Dancing', 'Football'],
      true, interval '507 days 7 hours',
      'My great-grandfather left Okinawa for São Paulo; I came back the long way and got off in Osaka. Taisho has the sanshin bars, so I was at home before I could read the street signs. I build stage sets, play pandeiro, and explain to each half of me what the other is on about. Right now I''m on tour with a theatre company and the flat stands empty till spring.'
    ),
    (
      'hiroshi.ueda@example.com', 'Hiroshi Ueda', 'Hiroshi', 'Ueda', 74, 'Japan', 'Osaka', false,
      'Tram driver, now a passenger', 'Sumiyoshi, Osaka', array['Train journeys', 'Photography', 'Museums'],
      false, interval '390 days 15 hours',
      'Thirty-eight years at the front of the Hankai tram, and not once did it leave early. I have the brass controller handle on my shelf; my wife dusts it. Since last year I ride the trams of other countries. Lisbon was steep. Melbourne was long. Hiroshima is not another country but I cried there, an old car of the type I learned on, still running. Next: Blackpool.'
    ),
    (
      'aoi.kuramochi@example.com', 'Aoi Kuramochi', 'Aoi', 'Kuramochi', 20, 'Japan', 'Osaka', false,
      'Learning rakugo', 'Juso, Osaka', array['Acting', 'Theatre', 'Languages', 'Writing'],
      true, interval '52 days 18 hours',
      'Kneel on a cushion, hold a fan, be six people at once, and get a laugh out of a room of insurance salesmen. That is rakugo, and that is my club. I''m twenty, I wash dishes in Juso on weekends, and I''m translating one story into English. It has a pun about radishes that will not move. I''d like to visit anywhere with an open stage and forgiving people.'
    ),
    (
      'kenta.shiomi@example.com', 'Kenta Shiomi', 'Kenta', 'Shiomi', null, 'Japan', 'Osaka', true,
      'Weekend diver', 'Osaka', array['Diving', 'Beaches'],
      false, interval '15 days 8 hours',
      null
    ),
    (
      'eufemia.lorenzo@example.com', 'Eufemia Lorenzo Bautista', 'Eufemia', 'Lorenzo Bautista', 57, 'Mexico', 'Oaxaca', true,
      'Cocinera; mole negro sin prisa', 'Centro, Oaxaca', array['Cooking', 'Food markets', 'Festivals'],
      true, interval '612 days 13 hours',
      'En mi casa el mole negro no se apura: chilhuacle tostado casi hasta quemarse, y que los vecinos estornuden. Aprendí con mi abuela en Zaachila y llevo treinta años en un puesto del mercado de la Merced. A quien me visita lo llevo primero al molino, de madrugada, y luego a la Central de Abastos a escoger tomate. Se cocina, se come y se lava. Lo que sobre se lo llevan en hoja de plátano.'
    ),
    (
      'josue.matadamas@example.com', 'Josué Matadamas', 'Josué', 'Matadamas', 29, 'Mexico', 'Oaxaca', true,
      'Printmaker', 'Jalatlaco, Oaxaca', array['Street art', 'Painting', 'Festivals', 'Craft beer', 'Local crafts'],
      true, interval '109 days 4 hours',
      'Gouges first, beer second, otherwise you lose a thumb. Our workshop in Jalatlaco prints on paper, on T-shirts and, after dark, on certain walls I will not name here. I can show you how a woodcut goes from insult to artwork. If it''s the end of October, you''ll be put to work on the masks for the comparsa and nobody will ask whether you can paint.'
    ),
    (
      'nayeli.ruiz@example.com', 'Nayeli Ruiz Antonio', 'Nayeli', 'Ruiz Antonio', 24, 'Mexico', 'Oaxaca', true,
      'Guide in the Sierra Norte', 'San Felipe del Agua, Oaxaca', array['Hiking', 'Mountains', 'Wildlife', 'Languages'],
      true, interval '73 days 9 hours',
      'Two hours up from the city the fog comes in at four, punctually, like an aunt. I guide in the Sierra Norte, in the villages that run their own forest, and I speak Zapotec with the mules because they were born to it. My guests walk, a lot, and sleep under three blankets.'
    ),
    (
      'hank.bergstrom@example.com', 'Hank Bergstrom', 'Hank', 'Bergstrom', 69, 'Mexico', 'Oaxaca', true,
      'Rooftop beekeeper', 'Xochimilco, Oaxaca', array['Gardening', 'Languages', 'Baking', 'Birdwatching'],
      true, interval '857 days 16 hours',
      'Minnesota winters took two of my toes and most of my patience, so I drove south until the truck quit, and that was Oaxaca. I keep bees now on a neighbor''s roof. Eleven years in, the ladies at the market still correct my verbs, which I count as affection. Guests get a veil, honey on everything, and a slow tour of the hardware stores. I''m serious. They''re wonderful here.'
    ),
    (
      'remedios.aquino@example.com', 'Remedios Aquino', 'Remedios', 'Aquino', 45, 'Mexico', 'Oaxaca', false,
      'Rural teacher, bus poet', 'Oaxaca', array['Poetry', 'Reading', 'Beaches', 'Writing'],
      true, interval '348 days 2 hours',
      'School starts at eight, the road washes out at seven: that, in short, is the rainy season for a village teacher. My pupils are thirty-one, my classrooms two. At weekends I come down to the city and write poems on the bus in a notebook that has got wet too often. No visitors for the present. In July I travel with my sister, anywhere that has a sea and a bookshop.'
    ),
    (
      'gildardo.santiago@example.com', 'Gildardo Santiago', 'Gildardo', 'Santiago', 51, 'Mexico', 'Oaxaca', true,
      'Trombone, weddings to funerals', 'Trinidad de las Huertas, Oaxaca', array['Live music', 'Festivals', 'Dancing'],
      true, interval '495 days 21 hours',
      'Do you know what a calenda sounds like from behind the trombone? Neither did I until I was nine and my uncle handed me his. We play weddings, saints'' days, burials, and now and then a petrol station opening. Come and march with us: I''ll give you the cymbals, nobody gets hurt. Afterwards there is mezcal from a cousin in Matatlán, and tejate for those with better sense.'
    ),
    (
      'citlali.robles@example.com', 'Citlali Robles', 'Citlali', 'Robles', 33, 'Mexico', 'Oaxaca', false,
      'Interpreter, mostly elsewhere', 'Reforma, Oaxaca', array['Languages', 'Coffee', 'Swimming', 'Theatre', 'Train journeys', 'Museums', 'Cinema'],
      true, interval '31 days 14 hours',
      'Passport number three, nearly full. I''m an interpreter, Spanish, English and French, and my office is whatever booth they lock me in: Geneva for fisheries, Nairobi for seeds. My things are in boxes at my brother''s house. What I miss is breakfast, so when a host asks how to make me happy the answer is beans. I bring chocolate, I leave early, I fold the sheets.'
    ),
    (
      'wilberth.canche@example.com', 'Wilberth Canché', 'Wilberth', 'Canché', 48, 'Mexico', 'Mérida', true,
      'Market cook, cyclist after lunch', 'Santiago, Mérida', array['Street food', 'Cycling', 'Swimming'],
      true, interval '277 days 12 hours',
      'Turkey in black relleno at six in the morning, that''s breakfast and don''t let anyone tell you otherwise. My stall at the Santiago market was my mother''s, and before that a barber''s, so there is still a hook for the strop. After the last panucho I like to show people the cenotes you reach by bicycle, behind the old henequen fields, where no van stops.'
    ),
    (
      'ligia.peniche@example.com', 'Ligia Peniche', 'Ligia', 'Peniche', 73, 'Mexico', 'Mérida', true,
      'Second voice of a trio', 'Itzimná, Mérida', array['Live music', 'Poetry', 'Gardening', 'Opera'],
      true, interval '768 days 18 hours',
      'On Thursdays, for more than fifty years, the serenade in Santa Lucía; I have missed four, two of them for childbirth. I sang with a trio once, the second voice, the one nobody notices until it is absent. Now I teach boleros to whoever turns up in Itzimná with a guitar. For guests there is a hammock on the veranda, chaya water, and the correct version of every love story in the songs.'
    ),
    (
      'addy.pech@example.com', 'Addy Pech Uc', 'Addy', 'Pech Uc', 36, 'Mexico', 'Mérida', true,
      'Hammock weaver', 'Mérida', array['Local crafts', 'Cooking', 'Languages'],
      true, interval '162 days 6 hours',
      'A good hammock takes me five weeks if the children are at school. There are six women in the workshop and one radio. A visitor can sit at the frame for a morning and learn the knot; I am patient. We eat at midday, usually beans with pork.'
    ),
    (
      'jeanrobert.toussaint@example.com', 'Jean-Robert Toussaint', 'Jean-Robert', 'Toussaint', 32, 'Mexico', 'Mérida', true,
      'Electrician by day, painter by night', 'Mejorada, Mérida', array['Painting', 'Languages', 'Festivals', 'Board games'],
      true, interval '221 days 0 hours',
      'Kreyòl at home, French for forms, Spanish for the market, English for you. I left Jacmel with a suitcase of papier-mâché masks and sold the last one in Tapachula. In Mérida I work as an electrician and paint at night. Mejorada is my neighbourhood: I can take you to the old railway yard, where the locomotives rust beautifully, and to the square at dusk, when it is finally cool enough to talk.'
    ),
    (
      'gaspar.novelo@example.com', 'Gaspar Novelo', 'Gaspar', 'Novelo', 59, 'Mexico', 'Mérida', true,
      'Maps flooded caves', 'García Ginerés, Mérida', array['Diving', 'Archaeology', 'Chess', 'Fishing', 'Cooking'],
      true, interval '539 days 10 hours',
      'Under this peninsula the rock is full of holes, and I have spent half of my life in them with a reel of line and two lamps. People imagine silence down there; in fact it is your own breathing, very loud. Once I found a fireplace, thirty metres below the water, from when the sea was lower. Beginners I take snorkelling and nothing more. I lost a friend in 2009 and I am strict. On land I am easier: grilled fish and a chessboard.'
    ),
    (
      'renata.camara@example.com', 'Renata Cámara', 'Renata', 'Cámara', 26, 'Mexico', 'Mérida', false,
      'House-sitter for other people''s animals', 'Mérida', array['Dogs', 'Yoga', 'Beaches', 'Surfing'],
      true, interval '84 days 17 hours',
      'Slept in so far: a lighthouse, a library, a decommissioned tram, the flat of a woman with thirteen parrots. I look after animals while their people are away. I like hosts with rules on the fridge. It saves time.'
    ),
    (
      'mauricio.euan@example.com', 'Mauricio Euán', 'Mauricio', 'Euán', 40, 'Mexico', 'Mérida', false,
      'Agronomist', 'Mérida', array['Football', 'Fishing'],
      false, interval '126 days 20 hours',
      null
    ),
    (
      'jose.villasenor@example.com', 'Pepe', 'José', 'Villaseñor', 64, 'Mexico', 'Guadalajara', true,
      'Two sauces, one bicycle', 'Santa Tere, Guadalajara', array['Street food', 'Cycling', 'Football'],
      true, interval '584 days 11 hours',
      'Everybody calls me Pepe, even the tax office. My torta ahogada has two sauces, one for you and one for your enemies. Sundays, when they close the avenues to cars, I cycle with guests and we stop for tejuino.'
    ),
    (
      'lorena.ibarra@example.com', 'Lorena Ibarra Plascencia', 'Lorena', 'Ibarra Plascencia', 41, 'Mexico', 'Guadalajara', false,
      'Light-rail driver', 'Oblatos, Guadalajara', array['Train journeys', 'Local crafts', 'Coffee'],
      true, interval '252 days 5 hours',
      '5.05, first train of Line 3. 5.20, the dark stretch under the Centro. 5.31, we come up into the air above Tlaquepaque and the day begins; I have seen it some two thousand times. 14.00, off duty. 15.00, I sand chairs that my neighbour Chayo and I find in the street. 22.00, asleep. In holidays I reverse everything: I sit in the last carriage, abroad, and somebody else drives.'
    ),
    (
      'ximena.godinez@example.com', 'Ximena Godínez', 'Ximena', 'Godínez', 22, 'Mexico', 'Guadalajara', false,
      'Comics about a nervous wrestler', 'Colonia Americana, Guadalajara', array['Comics', 'Video games', 'Street art', 'Nightlife', 'Coffee'],
      true, interval '22 days 23 hours',
      'so I draw a comic about a wrestler who is scared of dogs (autobiographical, minus the wrestling). industrial design student, terrible sleep schedule, two cactuses. last year I printed two hundred copies and sold a hundred and eighty-eight at a fair in Bogotá, where someone I''d never met lent me her sofa and her cat. I want to do that in more cities. no room to host, I live inside a drawer.'
    ),
    (
      'anselmo.renteria@example.com', 'Anselmo Rentería', 'Anselmo', 'Rentería', 78, 'Mexico', 'Guadalajara', true,
      'Mariachi violin, eight hundred songs', 'Analco, Guadalajara', array['Live music', 'Tea', 'History'],
      true, interval '889 days 7 hours',
      'The violin is from 1951 and I am older by three years. We played every night in the plazas, then for weddings, then in 1986 for a Danish television crew that never sent the tape. A mariachi must know a thousand songs; I can still do eight hundred without my glasses. I no longer go out after dark, so come at five. I play, you drink hibiscus, and we look at photographs of a thin man.'
    ),
    (
      'noor.haddadin@example.com', 'Noor Haddadin', 'Noor', 'Haddadin', 35, 'Mexico', 'Guadalajara', true,
      'Programmer from Amman', 'Colonia Lafayette, Guadalajara', array['Museums', 'Reading', 'Cooking', 'Running', 'Languages', 'Photography', 'Vegetarian food'],
      true, interval '314 days 3 hours',
      'How does a person from Amman end up debugging payment systems in Guadalajara? By answering an email at two in the morning. I''ve been here since 2019 and have found exactly one good supplier of za''atar, a secret I trade. With visitors I do the murals: Orozco at the Cabañas, lying flat on the benches as you should, then bookshops, then my mother on video telling us we are both too thin.'
    ),
    (
      'ulises.barragan@example.com', 'Ulises Barragán', 'Ulises', 'Barragán', 38, 'Mexico', 'Guadalajara', false,
      'Collector of fourth-division scarves', 'Guadalajara', array['Football', 'Train journeys', 'Craft beer'],
      true, interval '447 days 19 hours',
      '"You flew to Luxembourg for the fourth division?" Yes, and it rained, and I was one of forty-three spectators, and the kit man gave me a sausage. I do the same everywhere I go: find the smallest football ground, buy the scarf, follow that team for life. I make dental crowns, so money comes in small lumps and I travel in small lumps too. Hosting will have to wait for a bigger flat.'
    ),
    (
      'dulce.orozco@example.com', 'Dulce Orozco', 'Dulce', 'Orozco', 31, 'Mexico', 'Guadalajara', true,
      'Pastry chef', 'Guadalajara', array['Baking', 'Dancing', 'Food markets'],
      true, interval '61 days 1 hour',
      null
    ),
    (
      'haydee.sosnowski@example.com', 'Haydée Sosnowski', 'Haydée', 'Sosnowski', 77, 'Argentina', 'Buenos Aires', true,
      'Modista y milonguera', 'Villa Crespo, Buenos Aires', array['Tango', 'Dancing', 'Opera', 'Fashion'],
      true, interval '716 days 22 hours',
      'Bailo desde los quince, y a los setenta y siete sigo llegando tarde a la milonga a propósito: así eligen ellos. Fui modista en Villa Crespo, cosí para el Colón, y mi papá, que vino de Białystok, decía que el tango era ídish con mejor ropa. Si venís, te enseño a caminar, que es todo el secreto, y después compartimos una grande de muzza en la barra. De pie, como corresponde.'
    ),
    (
      'ramiro.etchegaray@example.com', 'Ramiro Etchegaray', 'Ramiro', 'Etchegaray', 31, 'Argentina', 'Buenos Aires', true,
      'Second-hand books, one cat, one leak', 'Boedo, Buenos Aires', array['Reading', 'Writing', 'Coffee', 'Football'],
      true, interval '193 days 13 hours',
      'A book falls open where it has been loved; that''s the one trick of my trade I give away. My shop in Boedo has a cat, a leak and a shelf labelled "Unfinishable". I like walking guests along San Juan in the evening, from café to café where poets once owed money, and back by the side streets for the smell of somebody''s barbecue. Bring a paperback in your language and swap it for one in mine.'
    ),
    (
      'florencia.iannuzzi@example.com', 'Florencia Iannuzzi', 'Florencia', 'Iannuzzi', 44, 'Argentina', 'Buenos Aires', true,
      'Horse vet', 'Mataderos, Buenos Aires', array['Horse riding', 'Dogs', 'Festivals', 'Wildlife'],
      true, interval '381 days 8 hours',
      'Horses on weekdays, because I am a vet, and horses on Sundays, because at the Mataderos fair somebody has to check the hooves before the ring race and it has been me since my teacher''s back gave out, and so any visitor who stays with us will at some point find herself holding a halter, with a bowl of locro in the other hand and an old gaucho explaining to her, at length, everything that I am doing wrong.'
    ),
    (
      'mirta.quispe@example.com', 'Mirta Quispe', 'Mirta', 'Quispe', 39, 'Argentina', 'Buenos Aires', true,
      'Peanut soup on Sundays', 'Liniers, Buenos Aires', array['Cooking', 'Food markets', 'Volunteering'],
      true, interval '529 days 4 hours',
      'Llajua first, then we talk. My kitchen in Liniers is two burners and a curtain, but on Sunday there''s a queue for the peanut soup, and half the queue is from Potosí like me. I arrived at eleven years old with my aunt. Nowadays I walk visitors round the Bolivian market and explain thirty potatoes. Weeknights I study nursing, so don''t be surprised if I quiz you on the bones of the hand.'
    ),
    (
      'oscar.bevilacqua@example.com', 'Cacho Bevilacqua', 'Oscar', 'Bevilacqua', 62, 'Argentina', 'Buenos Aires', true,
      'Railway electrician, carriage restorer', 'Barracas, Buenos Aires', array['Train journeys', 'History', 'Football', 'Volunteering'],
      true, interval '834 days 15 hours',
      'There used to be a signal box at the end of my street, and a man in it who let me pull the levers. I was lost from that day. After forty years as a railway electrician I''m one of nine old fools restoring a wooden carriage in a shed in Barracas, Saturdays only. We grill at one. Guests may sand, sweep or hold the lamp, and I''ll tell them everything the English left behind.'
    ),
    (
      'tobias.kestelman@example.com', 'Tobías Kestelman', 'Tobías', 'Kestelman', null, 'Argentina', 'Buenos Aires', false,
      'Records the sound of lifts', 'Almagro, Buenos Aires', array[]::text[],
      true, interval '39 days 6 hours',
      'Placeholder until I think of something clever. Okay: I''m a sound engineer, I collect the noise of lifts (the old Buenos Aires ones have cage doors and a wonderful sigh), and I have a fear of small talk, which I treat by travelling alone and asking people to show me their stairwells. It works better than you''d think. Bilbao was very generous.'
    ),
    (
      'guadalupe.ferreyra@example.com', 'Lupe Ferreyra', 'Guadalupe', 'Ferreyra', 27, 'Argentina', 'Buenos Aires', false,
      'Will write something soon', 'Buenos Aires', array['Yoga', 'Wine', 'Theatre'],
      true, interval '9 days 21 hours',
      null
    ),
    (
      'jimena.luque@example.com', 'Jimena Luque', 'Jimena', 'Luque', 28, 'Argentina', 'Córdoba', true,
      'Cuarteto dancer, pharmacy assistant', 'Alberdi, Córdoba', array['Dancing', 'Nightlife', 'Live music'],
      true, interval '102 days 12 hours',
      'Cuarteto isn''t elegant. It''s a piano thumping like an upstairs neighbour, and everybody going round the floor in the same direction till the lights come up. I''ll teach you in my kitchen, eight minutes, then we go to the dance on Friday with my cousins. By day I work in a pharmacy in Alberdi, very polite. Bring flat shoes and something to hold your hair back.'
    ),
    (
      'raul.amuchastegui@example.com', 'Raúl Amuchástegui', 'Raúl', 'Amuchástegui', 66, 'Argentina', 'Córdoba', true,
      'Maths teacher, nights outdoors', 'Observatorio, Córdoba', array['Astronomy', 'Camping', 'Photography', 'Tea'],
      true, interval '676 days 17 hours',
      'Since the comet of 1986 I have not slept through a whole clear night. I taught mathematics; now I volunteer at the old Observatory, and I drive guests out beyond Bosque Alegre where the Milky Way is so thick that it spoils the constellations. We take mate, blankets and criollitos. One rule of my car: no phones after Alta Gracia. Your eyes need twenty minutes, and so do you.'
    ),
    (
      'soledad.baigorria@example.com', 'Sole Baigorria', 'Soledad', 'Baigorria', 35, 'Argentina', 'Córdoba', true,
      'Route setter', 'Güemes, Córdoba', array['Climbing', 'Mountains', 'Camping', 'Vegetarian food', 'Yoga'],
      true, interval '299 days 10 hours',
      'Granite under the fingertips, condors at eye level. I set routes in a gym for money and drive to Los Gigantes every weekend that my knees sign off on. If you have never climbed, even better; I have spare shoes from 36 to 45 and plenty of time.'
    ),
    (
      'modou.ndoye@example.com', 'Modou Ndoye', 'Modou', 'Ndoye', 33, 'Argentina', 'Córdoba', true,
      'Watches, then lunch, then football', 'Centro, Córdoba', array['Football', 'Cooking', 'Languages', 'Tea'],
      true, interval '424 days 2 hours',
      'People buy a watch from me and ask where Touba is. I draw it for them on the back of the receipt: here the mosque, here my mother, here Dakar. Nine years in Córdoba, first the blanket on the pavement and now a shop in the arcade with a real door. On Sundays I cook thieboudienne for whoever is around, and the Argentines fight over the burnt rice.'
    ),
    (
      'elvira.zanotti@example.com', 'Elvira Zanotti', 'Elvira', 'Zanotti', 53, 'Argentina', 'Córdoba', false,
      'Editor of textbooks, maker of quince paste', 'General Paz, Córdoba', array['Cooking', 'Reading', 'Wine', 'Museums'],
      true, interval '754 days 20 hours',
      'Quinces, seven kilos, the copper pot, my grandmother''s paddle: the week after Easter nobody is allowed into my kitchen. The rest of the year I edit textbooks. I would sooner visit than be visited, since the house is full of jars. Every host of mine has received one.'
    ),
    (
      'lautaro.moyano@example.com', 'Lautaro Moyano', 'Lautaro', 'Moyano', 20, 'Argentina', 'Córdoba', false,
      'Pizza by bicycle', 'San Vicente, Córdoba', array['Cycling', 'Camping', 'Mountains'],
      true, interval '48 days 9 hours',
      'Broke my bicycle in Salta, my phone in Potosí and my heart in Cusco, and I''d do the trip again tomorrow. Three brothers, one bathroom, so no guests. Saving for Route 40 now, southward, all of it.'
    ),
    (
      'german.olmedo@example.com', 'Germán Olmedo', 'Germán', 'Olmedo', 49, 'Argentina', 'Córdoba', false,
      'Hello from Córdoba', 'Córdoba', array[]::text[],
      true, interval '3 days 6 hours',
      null
    ),
    (
      'ginette.laframboise@example.com', 'Ginette Laframboise', 'Ginette', 'Laframboise', 71, 'Canada', 'Montréal', true,
      'Retraitée de la caisse, vedette d''impro', 'Rosemont, Montréal', array['Acting', 'Theatre', 'Food markets', 'Cooking'],
      true, interval '487 days 14 hours',
      'Quarante ans de caisse chez le même épicier, pis je connais encore le code des bananes par cœur. Depuis ma retraite, je joue dans une ligue d''impro avec du monde de trente ans; je fais toujours la belle-mère, c''est un choix artistique. Mes visiteurs, je les amène au marché Jean-Talon avec un panier chacun, puis on revient à Rosemont éplucher des patates. L''hiver, on pellette d''abord, on jase après.'
    ),
    (
      'samir.bouchenak@example.com', 'Samir Bouchenak', 'Samir', 'Bouchenak', 34, 'Canada', 'Montréal', true,
      'Bridge engineer from Tizi Ouzou', 'Parc-Extension, Montréal', array['Architecture', 'Street food', 'Languages', 'Running', 'Vegetarian food'],
      true, interval '215 days 18 hours',
      'Practical matters: sofa bed, third floor, outside staircase (icy from December), vegetarian kitchen, five languages in the stairwell. I came from Tizi Ouzou to study bridges; Montréal had many in bad shape, so I stayed. I know Parc-Extension street by street, the dosa counter, the sari shops, the Greek men''s café where I am tolerated, and I enjoy showing it on a Saturday. I walk fast. Tell me to slow down.'
    ),
    (
      'mathilde.gendron@example.com', 'Mathilde Gendron', 'Mathilde', 'Gendron', 26, 'Canada', 'Montréal', true,
      'Bike courier, all winter', 'Hochelaga, Montréal', array['Cycling', 'Gardening', 'Craft beer', 'Live music'],
      true, interval '118 days 7 hours',
      'Minus twenty-two, headwind on the Jacques-Cartier, and the envelope was a birthday card. That''s courier work. In summer it''s almost too easy, so I fix up wrecks from the alley and lend them to visitors and we go and look at the ruelles, at the tomatoes people grow in old bathtubs, at the one hill that counts, and whoever gets up it last pays for the poutine.'
    ),
    (
      'anoush.terzian@example.com', 'Anoush Terzian', 'Anoush', 'Terzian', 49, 'Canada', 'Montréal', true,
      'Baker till two, translator after', 'Saint-Laurent, Montréal', array['Baking', 'Languages', 'Gardening', 'Live music'],
      true, interval '603 days 5 hours',
      'Lahmajoun is the only subject on which I''m not flexible. Beirut, Yerevan, Saint-Laurent: three cities, one dough, thin as a bedsheet. Mornings I bake in my brother''s shop; from two o''clock I translate contracts, and evenings I sing in a choir which has more opinions than tenors. Stay with me and you will be fed first, shown the botanical garden second, and asked about marriage third, by my aunt.'
    ),
    (
      'leo.perlmutter@example.com', 'Leo Perlmutter', 'Leo', 'Perlmutter', 65, 'Canada', 'Montréal', true,
      'History teacher, cannot stop', 'Mile End, Montréal', array['History', 'Jazz', 'Reading', 'Chess', 'Coffee'],
      true, interval '779 days 11 hours',
      'You want bagels, everyone wants bagels. Fine. Afterwards I''ll show you the loft where my mother sewed buttonholes for thirty-one years, the synagogue that is condos now, and the tavern I was thrown out of alongside a future judge. I taught high-school history. I''m told I do not stop. My wife used to walk ahead with a paperback and wait for us at the corners. Mile End on foot takes ninety minutes with an ordinary person and four hours with me.'
    ),
    (
      'weilin.chao@example.com', 'Wei-Lin Chao', 'Wei-Lin', 'Chao', 30, 'Canada', 'Montréal', false,
      'Seabird counter', 'Verdun, Montréal', array['Birdwatching', 'Camping', 'Kayaking', 'Tea', 'Wildlife', 'Reading'],
      true, interval '77 days 23 hours',
      'Currently reachable from a tent on the Gaspé coast. I count seabirds May to August; otherwise I own basically nothing. As a guest I need a socket, a window, and no questions until tea. My grandmother in Tainan thinks I work in an office.'
    ),
    (
      'jeansebastien.thivierge@example.com', 'Jay-S', 'Jean-Sébastien', 'Thivierge', 43, 'Canada', 'Montréal', false,
      'Sous-chef, dad, goalie', 'Villeray, Montréal', array['Cooking', 'Street food', 'Skiing'],
      true, interval '356 days 16 hours',
      'Sous-chef, father of one, goalie in a beer league, in ascending order of bruises. Between the restaurant and Thursday hockey my week has about four free hours, and the kid gets those. In February we close for three weeks, and the two of us go somewhere warm to eat soup. He''s seven. He marks every bowl out of ten; so far nobody has had a ten.'
    ),
    (
      'douglas.zwicker@example.com', 'Dougie Zwicker', 'Douglas', 'Zwicker', 59, 'Canada', 'Halifax', true,
      'Tug skipper, ashore', 'Herring Cove, Halifax', array['Sailing', 'Fishing', 'Board games', 'Craft beer'],
      true, interval '665 days 9 hours',
      'Fog''s a good teacher. I ran a tug in this harbour twenty-eight years and learned to steer by the smell of the brewery. I''ll take you out round Georges Island if the wind''s decent, and if it''s not we''ll play crib and eat hodge-podge, which is just vegetables and cream, don''t panic.'
    ),
    (
      'charlene.cromwell@example.com', 'Charlene Cromwell', 'Charlene', 'Cromwell', 51, 'Canada', 'Halifax', true,
      'Gospel choir director', 'North End, Halifax', array['Live music', 'History', 'Street art', 'Volunteering', 'Festivals'],
      true, interval '284 days 1 hour',
      'Second Sunday, third pew, you''ll hear me before you see me. I direct a gospel choir, and my family has been in Nova Scotia since the ships of 1783. I show guests the Halifax that got bulldozed and the one that didn''t: Africville, the Gottingen Street murals, my cousin''s fish shop. You don''t have to sing. About halfway through, most people find that they are singing.'
    ),
    (
      'rana.jabbour@example.com', 'Rana Jabbour', 'Rana', 'Jabbour', 37, 'Canada', 'Halifax', true,
      'Pharmacist, twice qualified', 'Fairview, Halifax', array['Cooking', 'Gardening', 'Swimming', 'Poetry'],
      true, interval '455 days 15 hours',
      'In Homs I was a pharmacist; it took four years of exams to be one again here, and the refusals hang framed beside the licence. Our first winter somebody left boots on the step, four pairs, the right sizes, and I never found out who. When people stay with us we go to Point Pleasant to look at the ships, and in the evening I make fattoush, snow or no snow. I tell about Syria if they ask. If they don''t ask, we talk about bread.'
    ),
    (
      'ewan.boudreau@example.com', 'Ewan Boudreau', 'Ewan', 'Boudreau', 22, 'Canada', 'Halifax', false,
      'Carpenter, cold-water surfer', 'Dartmouth, Halifax', array['Surfing', 'Camping', 'Beaches', 'Skiing'],
      true, interval '88 days 3 hours',
      'Lawrencetown Beach, January, head-high, nobody out, couldn''t feel my face. I frame houses from April till the snow, then I go where the swell is. Living in my uncle''s camper just now. If you''ve got waves and a driveway, I''ve got tools.'
    ),
    (
      'marguerite.comeau@example.com', 'Marguerite Comeau', 'Marguerite', 'Comeau', 80, 'Canada', 'Halifax', true,
      'Acadian, swimmer, cook for forty', 'Dartmouth, Halifax', array['Swimming', 'Cooking', 'History', 'Languages'],
      true, interval '547 days 20 hours',
      'Née Comeau, married a Comeau, no relation, or so we told the priest. I was raised at Pointe-de-l''Église, moved to Dartmouth for the telephone exchange, and know how to make rappie pie for forty. I swim in Lake Banook till Thanksgiving. My guests cross on the ferry with me, the cheapest cruise in Canada, and I tell them which houses lost their windows in the Explosion, and who was standing there.'
    ),
    (
      'phil.naugler@example.com', 'Phil Naugler', 'Phil', 'Naugler', 46, 'Canada', 'Halifax', false,
      'High-school shop teacher', 'Halifax', array['Kayaking', 'Dogs', 'Comics'],
      false, interval '171 days 22 hours',
      null
    ),
    (
      'abdelhak.sefrioui@example.com', 'Abdelhak Sefrioui', 'Abdelhak', 'Sefrioui', 54, 'Morocco', 'Fes', true,
      'Zellige cutter', 'Ain Nokbi, Fes', array['Local crafts', 'Ceramics', 'Architecture'],
      true, interval '396 days 6 hours',
      'Hammer, anvil, tile; turn it, tap it, again. I cut zellige as my father did, sitting on the floor with a bad back, and my son does it with music in his ears. A star of sixteen points has no room for a mistake the width of a hair. I show guests the kilns at Ain Nokbi and let them try. What they break goes into a sack, and we make other patterns from it.'
    ),
    (
      'zhor.lamrini@example.com', 'زهور لمريني', 'زهور', 'لمريني', 65, 'Morocco', 'Fes', true,
      'طبّاخة من المدينة القديمة', 'Medina, Fes', array['Cooking', 'Food markets', 'Tea'],
      true, interval '727 days 12 hours',
      'منذ أربعين سنة وأنا أحمل عجيني كل صباح إلى فرّان الحومة، وأعرف خبز كل دار من شكله. ورثتُ عن جدّتي وصفة البسطيلة بالحمام، ولا أكتبها لأحد، لكنّي أطبخها أمام من يزورني. أستقبل الضيوف في دار قديمة قرب باب بوجلود، ونمشي معًا إلى سوق الرصيف لشراء الزيتون والنعناع. أحبّ الضيف الذي يأكل كثيرًا ويسأل أكثر، وأنصحه ألّا يلبس حذاءً جديدًا لأنّ دروبنا طويلة.'
    ),
    (
      'hamza.ouazzani@example.com', 'Hamza Ouazzani', 'Hamza', 'Ouazzani', 24, 'Morocco', 'Fes', false,
      'Goalkeeper, third division', 'Narjiss, Fes', array['Football', 'Running', 'Video games'],
      true, interval '56 days 13 hours',
      'Goalkeeper, third division, left knee held together by tape and my mother''s prayers. We are eight at home, with one canary, so no guests. I would like to see Lyon and Rotterdam from somewhere other than a cousin''s sofa.'
    ),
    (
      'khadija.guessous@example.com', 'Khadija Guessous', 'Khadija', 'Guessous', 38, 'Morocco', 'Fes', true,
      'Teaches French and a little theatre', 'Andalous, Fes', array['Theatre', 'Reading', 'Gardening', 'Poetry', 'Cooking'],
      true, interval '246 days 19 hours',
      'My pupils believe I live in the school. After the last bell I actually live on the roof: a table, four pots of basil, the storks, and a view over the whole Andalusian quarter. I teach French and direct one play a year, always with too many kings, since no child agrees to be the servant. On Fridays guests share our couscous; on other days I lead them through the lanes and make them guess what each doorway was for before they may knock.'
    ),
    (
      'driss.lahbabi@example.com', 'Driss Lahbabi', 'Driss', 'Lahbabi', 47, 'Morocco', 'Fes', false,
      'Train conductor', 'Ville Nouvelle, Fes', array['Train journeys', 'Languages', 'Coffee'],
      true, interval '513 days 8 hours',
      'Tickets, please: I''ve said it in four languages for twenty-four years, Fes to Tangier, Fes to Oujda. On leave I take my wife on trains where I may finally sleep. The apartment is full of my brother''s wedding furniture, hence no guests this year.'
    ),
    (
      'camille.rousselet@example.com', 'Camille Rousselet', 'Camille', 'Rousselet', 41, 'Morocco', 'Fes', true,
      'Restorer of painted ceilings', 'Batha, Fes', array['Architecture', 'Painting', 'Local crafts', 'Horse riding'],
      true, interval '338 days 0 hours',
      'Plaster dust in the coffee, cedar shavings in the bed. I restore carved ceilings alongside three masters who have taught me most of what I know, including how to swear. Guests may come up the scaffolding and see the paint from a hand''s width away.'
    ),
    (
      'soufiane.jabri@example.com', 'Soufiane Jabri', 'Soufiane', 'Jabri', 32, 'Morocco', 'Fes', true,
      'Photographs doors', 'Fes', array['Photography', 'Coffee'],
      false, interval '133 days 10 hours',
      null
    ),
    (
      'mbarek.aitlhaj@example.com', 'Mbarek Aït Lhaj', 'Mbarek', 'Aït Lhaj', 50, 'Morocco', 'Essaouira', true,
      'Thuya-wood craftsman', 'Medina, Essaouira', array['Local crafts', 'Chess', 'Tea'],
      true, interval '628 days 17 hours',
      'The root, not the trunk: that''s where thuya keeps its eyes. I''ve had the same vault under the ramparts since 1995 and it smells like pencils and lemon. Boxes, chessboards, once a coffin for a very elegant parrot. I give a chair, a scrap of wood and sandpaper to any guest, and after an hour we play on whichever board is least finished.'
    ),
    (
      'fadma.oubella@example.com', 'Fadma Oubella', 'Fadma', 'Oubella', 62, 'Morocco', 'Essaouira', true,
      'Argan cooperative', 'Ghazoua, Essaouira', array['Cooking', 'Reading', 'Gardening'],
      true, interval '465 days 21 hours',
      'We crack the nut between two stones, and if your mind wanders you crack the finger. I''m one of forty women in the cooperative out on the Agadir road. I learned to read at fifty-three, from my granddaughter''s schoolbook, and now I read everything, even shampoo. My husband says the lamp costs money; I tell him what not reading cost. Whoever visits me eats amlou with hot bread, then goes out with the goats. No, they do not pose in the trees. They are just hungry.'
    ),
    (
      'younes.regragui@example.com', 'Younes Regragui', 'Younes', 'Regragui', 29, 'Morocco', 'Essaouira', true,
      'Surf and kite teacher', 'Sidi Kaouki, Essaouira', array['Surfing', 'Beaches', 'Swimming', 'Dogs', 'Tea'],
      true, interval '187 days 4 hours',
      'Wind report: always. I teach surfing and kiting on the big beach and at Sidi Kaouki, where there''s more room to fall. Friends from this site also get sardines from the port grill, mint tea in Diabat, and a nap.'
    ),
    (
      'latifa.maach@example.com', 'Latifa Maâch', 'Latifa', 'Maâch', 33, 'Morocco', 'Essaouira', true,
      'Vet''s assistant, cat-catcher', 'Medina, Essaouira', array['Dogs', 'Volunteering', 'Wildlife', 'Running'],
      true, interval '145 days 11 hours',
      'Last Tuesday it was a gull with a fish hook, on Wednesday a donkey that had eaten a wedding hat. I assist a vet with a very small surgery, which means I''m also ambulance, accountant and cat-catcher. Guests who love animals can come on the evening feeding round through the alleys, bucket in hand. I know all three hundred by name. About forty are called Mimi.'
    ),
    (
      'gunilla.akesson@example.com', 'Gunilla Åkesson', 'Gunilla', 'Åkesson', 63, 'Morocco', 'Essaouira', true,
      'Rag rugs, Swedish method, Moroccan shirts', 'Mellah, Essaouira', array['Local crafts', 'Baking', 'Swimming', 'Coffee', 'Meditation'],
      true, interval '793 days 14 hours',
      'Widowhood arrived with a great deal of paperwork and a sudden dislike of November, so I sold the house in Kalmar. In the Mellah I have three rooms and a loom. I weave rag rugs in the Swedish way out of Moroccan football shirts. Coffee at three is open to all, with cardamom buns. I can show you the old Jewish cemetery by the sea, and I know who keeps the key.'
    ),
    (
      'ayoub.chtaini@example.com', 'Ayoub Chtaini', 'Ayoub', 'Chtaini', 21, 'Morocco', 'Essaouira', false,
      'Gnaoua apprentice, pan scrubber', 'Essaouira', array['Live music', 'Festivals', 'Jazz', 'Dancing'],
      true, interval '68 days 2 hours',
      'Qraqeb blisters look just like dishwashing blisters, and I have both. By day I scrub pans in a hotel; by night I''m the youngest in a Gnaoua group, learning the guembri from a maâlem who says "again" and nothing else. June is the festival: I answer nobody in June. The other months I''d like to go and hear what people''s grandfathers play elsewhere.'
    ),
    (
      'brahim.oumghar@example.com', 'Brahim Oumghar', 'Brahim', 'Oumghar', null, 'Morocco', 'Essaouira', false,
      'Sardine fisherman', 'Essaouira', array['Fishing', 'Mountains'],
      true, interval '233 days 16 hours',
      'Blue boat, blue hands, since all of us use the same paint. I go out at two after midnight for sardines, and by the time the tourists photograph the nets I''m asleep. My wife made this page. She wants to see snow. I said fine, one time, so in January we went to Ifrane, and a boy hit me with a snowball, and now I want to see it again also.'
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

update public.profiles
set languages = spoken.languages
from public.users
join (
  values
    ('Inês Carvalho', 'Portuguese, English'), ('Tomáš Novák', 'Czech, German, English'),
    ('Adérito Semedo', 'Cape Verdean Creole, Portuguese')
) as spoken (name, languages) using (name)
where users.id = profiles.user_id;
