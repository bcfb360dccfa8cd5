// The words by which a query is understood, by language: those that carry no meaning, and those that deny.

const listed = (words: string): ReadonlySet<string> => new Set(words.trim().split(/\s+/))

/** Articles, prepositions, pronouns, auxiliaries, and the words with which people ask for somebody. */
export const functionWords = {
  en: listed(`a an the and or but if then than so as of at by for with about between into through
    to from up in out on off over under here there when where why how within per all any both each few more most
    other some such own too very much many can could may might must shall should will would do does did doing be is
    am are was were been being have has had having get gets let lets make makes i me my mine myself we us our you
    your yours he him his she her they them their theirs it its who whom whose which what that this these those one
    ones just also really i'm i'd i'll i've who's that's we're there's somebody someone anybody anyone something
    anything everybody everyone people person persons folks guy guys looking look search searching find finding
    found seek seeking want wants wanted need needs needed like likes liked love loves loving enjoy enjoys enjoying
    would please meet meeting show shows tell knows know interested fond fan keen able willing ideally preferably
    maybe perhaps hello hi hey thanks around near nearby host hosts`),
  de: listed(`der die das den dem des ein eine einen einem einer eines und oder aber mit für von
    vom zu zum zur im in am an auf aus bei nach wie wo wer was wen wem ist sind bin war ich du er sie wir ihr es
    mein meine meinen sein seine auch gern gerne sehr hat habe haben kann können könnte mag mögen möchte möchten
    würde suche suchen sucht jemand jemanden jemandem leute menschen person mir mich dir dich uns sich als wenn dass
    ob um über liebt liebe interessiert zeigen zeigt finde finden bitte gastgeber`),
  es: listed(`el la los las lo un una unos unas y e o u de del al a en con por para que se su sus
    mi mis tu yo me te le les nos es son soy está están como donde cuando quien quién alguien persona personas gente
    busco buscar buscando quiero quisiera querría me gusta guste gustan gustaría encontrar conocer pueda puede muy
    más también hay tiene tenga sea cerca favor pero anfitrión`),
  fr: listed(`le la les l un une des du de d et ou à au aux en dans sur avec pour par que qui qu je
    j tu il elle nous vous ils elles on mon ma mes ton ta son sa ses ce cette ces est sont suis être a ai avoir
    comme où quand très plus aussi quelqu'un quelqu quelquun personne personnes gens cherche chercher recherche
    voudrais veux aime aimer aiment aimerais trouver rencontrer peut pourrait puisse chez s'il plaît mais`),
  it: listed(`il lo la i gli le l un uno una di del della dei degli delle a al alla ai in nel nella
    da dal dalla con su per tra fra e ed o che chi cui mi ti si ci vi io tu lui lei noi è sono sia ho ha come dove
    quando molto più anche qualcuno persona persone gente cerco cercare vorrei voglio piace piaccia piacciono ama
    amano trovare incontrare conoscere può possa potrebbe ma`),
  pt: listed(`o a os as um uma uns umas de do da dos das em no na nos nas com por pelo pela para e
    ou que quem se eu tu ele ela nós me te lhe meu minha seu sua é são sou está como onde quando muito mais também
    alguém pessoa pessoas gente procuro procurar quero queria gostaria gosta goste gostam encontrar conhecer possa
    pode`),
  nl: listed(`de het een en of maar met voor van naar te ten ter in op aan uit bij om als dat die
    dit deze wie wat waar hoe wanneer is zijn ben was ik jij je hij zij ze wij we mijn jouw haar ook heel erg heeft
    heb hebben kan kunnen kon wil willen zou graag iemand mensen persoon zoek zoeken zoekt houdt hou houden vind
    vinden leuk mij me ons over er`),
  tr: listed(`bir ve veya ya da de ile için gibi kadar çok daha en bu şu o ben sen biz siz onlar
    benim bana beni bende senin onun ki ne kim nerede nasıl var olan olarak mi mı mu mü biri birisi birini kimse
    insan insanlar kişi kişiler arıyorum arıyoruz aramak istiyorum isterim ister seven sevdiği bulmak bilen eden
    lütfen`),
} as const

export type Language = keyof typeof functionWords
export const languages = Object.keys(functionWords) as Language[]

/** Before a place where somebody lives … */
export const beforePlaces = listed(`in from to at around near nearby outside inside within of aus nach bei en desde à
    dans da em uit te van i från w z v ve`)

/** … and before one in whose surroundings. Words like "to" and "de" may follow. */
export const nearWords = listed(`near nearby around close outskirts surroundings vicinity nahe nähe cerca près proche
    vicino perto buurt dichtbij yakın`)

/** What stands before something that is not wanted; in a biography private.denied_words looks for it. */
export const deniers: Record<Language, ReadonlySet<string>> = {
  en: listed(`not no without except excluding excepting nor isn't aren't don't doesn't isnt arent
    dont doesnt outside avoids avoid hates hate detests dislikes dislike never can't cannot cant quit stopped
    allergic`),
  de: listed('nicht kein keine keinen keinem keiner ohne außer ausser außerhalb'),
  es: listed('no sin excepto salvo ni fuera'),
  fr: listed('sans pas sauf excepté ni hors'),
  it: listed('non senza tranne eccetto né fuori'),
  pt: listed('não sem exceto nem fora'),
  nl: listed('niet geen zonder behalve buiten'),
  tr: new Set(),
}

/** Deniers that no other language has as a word or a name: they tell the language. */
export const tellingDeniers = listed(
  `without except don't doesn't dont doesnt nicht kein keine keinen keinem keiner ohne
    außer außerhalb excepto zonder geen niet behalve senza tranne não`,
)

/** What people drink and smoke: denied with the verb before it, "doesn't drink alcohol". */
export const objects = listed('alcohol wine beer spirits cigarettes tobacco weed')

/** What people deny most, in all its forms; behind a bar, those that only count where they are denied ("a drink"). */
export const denials =
  `dog dogs hund hunde hunden perro perros perra chien chiens cane cani hond honden cachorro cachorros caes; cat cats
  katze katzen gato gatos gata gatto gatti kat katten; pet pets animals haustier haustiere mascota mascotas animaux
  animali huisdier huisdieren animais | animal; kid kids child children kinder kindern hijos ninos enfants bambini
  figli kinderen filhos; smoke smokes smoker smokers smoking smoked cigarette cigarettes rauche rauchen raucher
  raucht fumo fumar fumador fumer fumeur fumeurs roken rookt gerookt kuryu kurit palyu | tobacco rauch zigaretten
  pale pali humo fumee fume fuma fumare cigarros rook; alcohol alkohol alcool alcolici alkogol | drink drinks
  drinking drinker drinkers trinke trinken trinkt bebo beber bebe bois boire boit bevo bere beve drinkt drinken booze
  pije pyu; meat fleisch carne viande vlees mieso miesa myaso myasa; fish fisch pescado poisson pesce seafood | vis;
  car cars auto coche voiture macchina carro | drive driving licence; tv television fernseher televisor televisione
  televisie; party parties partying clubbing nightlife fiesta fiestas fete fetes festa feste feestjes | clubs bars;
  internet wifi wlan | signal reception; fly flies flying flight flights | plane planes flugzeug fliegen avion vuelo;
  instagram facebook tiktok | social`
    .split(';').map((group) => group.split('|').map((words) => words.trim().split(/\s+/)))

/** What says by itself to lack something, and what. */
export const lacking = new Map(
  Object.entries({ sober: 'alcohol', teetotal: 'alcohol', vegetarian: 'meat', vegan: 'dairy', childless: 'children' }),
)

/** What people do in German and Dutch, where the denier follows the verb: "isst kein Fleisch", "raucht nicht". */
export const habits = listed('trinkt isst raucht drinkt eet rookt')

/** In Turkish the denier follows. */
export const deniersBehind = listed('değil olmayan hariç istemeyen sevmeyen istemiyorum')

/** After a denier: an idiom, which denies nothing (not only, no problem, not far). */
export const idioms = listed(`only just too very so far afraid sure much necessarily really always yet more less
    that mind bad shy matter problem problems one need idea worries doubt way rush limits fail known allergic nur zu
    mehr weit problem zweifel solo sólo muy importa lejos duda problema problemas seulement trop loin doute problème
    solo troppo lontano dubbio só muito longe dúvida alleen te ver probleem twijfel`)

/** Before a denier: a question that leaves it open. */
export const openers = listed('if or why whether oder o ou of')

/** Between a denier and what it denies: verbs and adjectives that say little by themselves. */
export const fillerWords = listed(`like likes want wants have has had having eat eats own owns keep keeps need needs
    love loves enjoy enjoys use uses live lives living based interested into small big large little loud noisy young
    old heavy strong wild crowded strict any kind sort too longer learned learnt stand drinking eating anymore mag mögen
    will lebt wohnt gusta gustan vive aime vit piace ama gosta houdt woont kleine große grosse laute grote luide`)

/** What one lacks oneself excludes nobody: "I don't have a car". */
export const ownVerbs = listed('have speak know understand own drive need mind')

/** Of those who deny, what is said of places only. */
export const outsideWords = listed('outside außerhalb fuera hors fuori fora buiten')

/** Joins what is denied to more of it. */
export const alternatives = listed('or nor oder noch o ou ni né nem of veya')

/** A language follows these words … */
export const beforeLanguages = listed(
  `speak speaks speaking spoken spoke my our learn learns learning learned teach teaches
    teaching taught practise practises practising practice practices practicing in fluent native study studies
    studying improve improving understand understands talk talks talking some basic rusty little good perfect
    conversational beginner intermediate advanced`,
)

/** … or before these. */
export const behindLanguages = listed(`lesson lessons class classes course courses teacher teachers tutor tutors speaker
    speakers speaking language languages tandem exchange conversation grammar vocabulary practice skills dictionary
    pronunciation translator interpreter`)

/** Of these, those that say nothing beside the name of a language. */
export const speaking = listed('speak speaks speaking spoken speaker speakers fluent native')

/** Numbers that a text may write either way, without words that mean something else in another language. */
export const numbers: ReadonlyMap<string, string> = new Map(
  `two zwei dos deux dois twee iki;three drei tres trois tre três drie üç;four vier cuatro quatre quattro quatro dört
  five fünf cinco cinq cinque vijf beş;six sechs seis zes altı;seven sieben siete sept sette sete zeven yedi
  eight acht ocho huit otto oito sekiz;nine neun nueve neuf nove negen dokuz;ten zehn diez dix dieci dez tien
  eleven elf onze undici;twelve zwölf doce douze dodici twaalf;thirteen;fourteen;fifteen;sixteen;seventeen
  eighteen;nineteen;twenty zwanzig veinte vingt venti vinte twintig yirmi`
    .split(/;|\n/)
    .flatMap((line, place) => line.trim().split(' ').map((word): [string, string] => [word, String(place + 2)])),
)
