-- Names of places, written by scripts/places/main.ts: the names; the adjectives; the parts. From the Unicode CLDR
-- (Unicode License V3), WordNet 3.1 (its licence lies beside the embedder's data) and scripts/places/places.txt.
insert into private.search_places (names, adjectives, parts)
select
  string_to_array(split_part(line, ';', 1), ','), string_to_array(split_part(line, ';', 2), ','),
  string_to_array(split_part(line, ';', 3), ',')
from regexp_split_to_table($places$aachen,aix la chapelle,aken,aquisgran,aquisgrana
aarhus,arhus
addis ababa,addis abeba,adis abeba,アジスアベバ,亚的斯亚贝巴,new flower
afghanistan,afganistan,afeganistao,アフガニスタン,阿富汗;afghani
aktau,aktaou,aktav,アクタウ,阿克套
aland islands,alandinseln,islas aland,iles aland,isole aland,ilhas aland,aland,aland adalari,wyspy alandzkie,alandy
albania,albanien,albanie,arnavutluk,アルバニア,阿尔巴尼亚;albanian,albanians
alexandria,alexandrie,alejandria,alessandria d egitto,iskenderiye,el iskandriyah
algeria,algerien,argelia,algerie,algerije,cezayir,algieria,algeriet,alzirsko,アルジェリア,阿尔及利亚;algerian,algerians
algiers,alger,algier,argel,algeri,cezayir,alzir,アルジェ,阿尔及尔
american samoa,amerikanisch samoa,samoa americana,samoa americaines,samoa americane,amerikaans samoa,amerikan samoasi
amsterdam,amsterdao;amsterdammer;jordaan,de pijp
andalusia,andalucia,andalusien;andalusian,andalusians
andorra,andorre,andora,アンドラ,安道尔;andorran,andorrans
angola,アンゴラ,安哥拉;angolan,angolans
anguilla,anguila,アンギラ,安圭拉;anguillan,anguillans
ankara,angora
antakya,antioch,antakiya
antigua barbuda,antigua und barbuda,antigua y barbuda,antigua et barbuda,antigua e barbuda,antigua en barbuda
antwerp,antwerpen,anvers,amberes,anversa,antuerpia
aqtobe,aktobe,aktioubinsk,aktiubinsk,アクトベ,阿克托别
araguaina,アラグァイナ,阿拉瓜伊纳
argentina,argentinien,argentinie,arjantin,argentyna,アルゼンチン,阿根廷;argentine
armenia,armenien,armenie,ermenistan,アルメニア,亚美尼亚,hayastan;armenian,armenians
aruba,アルバ,阿鲁巴
ashgabat,asgabat,asjabad,achgabat,asgabate,asjchabad,askabat,aszchabad,aschabad,アシガバード,阿什哈巴德
asmara,アスマラ,阿斯马拉,asmera
astrakhan,astrachan,astracan,astraca,astrahan,アストラハン,阿斯特拉罕
asuncion,assuncao,アスンシオン,亚松森
athens,athen,athina,athenes,atenas,atene,athene,atina,ateny,aten,atheny,アテネ,雅典;athenian,athenians;exarchia,koukaki
atikokan,アティコカン,阿蒂科肯
australia,australien,australie,avustralya,オーストラリア,澳大利亚
austria,osterreich,autriche,oostenrijk,avusturya,osterrike,rakousko,オーストリア,奥地利,oesterreich;austrian,austrians
avignon,avignone,avinon
azerbaijan,aserbaidschan,azerbaiyan,azerbaidjan,azerbaigian,azerbaijao,azerbeidzjan,azerbaycan,azerbejdzan;azerbaijani
azores,azoren,acores,azzorre,azor adalari,azory,azorerna,azorske ostrovy,アゾレス,亚速尔群岛
baghdad,bagdad,bagda,bagdat,バグダッド,巴格达
bahamas,bahama s,bahamalar,bahamy,バハマ,巴哈马,bahama islands;bahamian,bahamians
bahia de banderas,bahia banderas,バイアバンデラ,巴伊亚班德拉斯
bahrain,barein,bahrein,bahreyn,bahrajn,バーレーン,巴林,bahrain island,bahrein island;bahraini
bangkok,krung thep,banguecoque
bangladesh,bangladesch,banglades,bangladesz,バングラデシュ,孟加拉国,bangla desh,east pakistan;bangladeshi
barbados,barbade,バルバドス,巴巴多斯;barbadian,barbadians
barcelona,barcelone,barcellona;catalan;gracia,el born,poblenou,raval
basel,basle,basilea
basque country,euskadi,pais vasco,baskenland,pays basque
bavaria,bayern,baviere,baviera;bavarian,bavarians
beijing,peking,pekin,pechino,pequim,北京,peiping;pekingese
beirut,beyrouth,beirute
belarus,bielorrusia,bielorussie,bielorussia,bielorrussia,bialorus,belorusko,ベラルーシ,白俄罗斯,byelarus;belarusian,belarusians
belem,belen,ベレン,贝伦,feliz lusitania,santa maria de belem
belfast,beal feirste
belgium,belgien,belgica,belgique,belgio,belgie,belcika,belgia,ベルギー,比利时;belgian,belgians
belgrade,beograd,belgrad,belgrado,belehrad,ベオグラード,贝尔格莱德
belize,belice,ベリーズ,伯利兹,british honduras
bengaluru,bangalore
benin,ベナン,贝宁,dahomey;beninese
berlin,berlino,berlim;berliner,berliners;kreuzberg,neukolln,prenzlauer berg,friedrichshain,charlottenburg,schoneberg
bermuda,bermudas,bermudes,bermudy,バミューダ,百慕大;bermudan,bermudans
bern,berne,berna
bhutan,butan,bhoutan,butao,ブータン,不丹;bhutanese
bilbao,bilbo
bishkek,bischkek,bichkek,bisjkek,biskek,biszkek,ビシュケク,比什凯克,frunze
bogota,ボゴタ,波哥大
bolivia,bolivien,bolivie,bolivya,boliwia,ボリビア,玻利维亚;bolivian,bolivians
bologna,bologne,bolonia,bolonha
bolzano,bozen
bordeaux,bordeus,burdeos
bosnia and herzegovina,bosnia,bosnien,bosna i hercegovina;bosnian,bosnians
bosnia herzegovina,bosnien und herzegowina,bosnia y herzegovina,bosnie herzegovine,bosnia ed erzegovina
botswana,botsuana,botsvana,ボツワナ,博茨瓦纳;botswanan,botswanans
bratislava,pressburg,pozsony
brazil,brasilien,brasil,bresil,brasile,brazilie,brezilya,brazylia,ブラジル,巴西;brazilian,brazilians
british indian ocean territory,britisches territorium im indischen ozean,territorio britanico del oceano indico
british virgin islands,britische jungferninseln,islas virgenes britanicas,iles vierges britanniques
brittany,bretagne,breizh,bretana,breiz;breton
brno,brunn
bruges,brugge,brujas
brunei,brunei darussalam,brunej,ブルネイ,文莱,negara brunei darussalam;bruneian,bruneians
brunswick,braunschweig
brussels,bruxelles,brussel,bruselas,bruxelas,bruksel,bruksela,bryssel,brusel,ブリュッセル,布鲁塞尔;bruxellois
bucharest,bucuresti,bukarest,bucarest,bukres,bucareste,boekarest,bukareszt,bukurest,ブカレスト,布加勒斯特,bucharesti
budapest,budapeste
buenos aires,bs as;porteno;palermo soho,san telmo
bulgaria,bulgarien,bulgarie,bulgarije,bulgaristan,bulharsko,ブルガリア,保加利亚;bulgarian,bulgarians
burkina faso,burquina faso,ブルキナファソ,布基纳法索,upper volta
busingen,busingen am hochrhein,ビュージンゲン,布辛根
cairo,kairo,le caire,el cairo,il cairo,kahire,kair,kahira,カイロ,开罗,al qahira,el qahira;cairene
cambodia,kambodscha,camboya,cambodge,cambogia,camboja,cambodja,kambocya,kambodza,kambodja,カンボジア;cambodian,cambodians
cameroon,kamerun,camerun,cameroun,camaroes,kameroen,カメルーン,喀麦隆;cameroonian,cameroonians
canada,kanada,カナダ,加拿大;canadian,canadians
canaries,kanaren,canarias,iles canaries,canarie,canarische eilanden,kanarya adalari,wyspy kanaryjskie,kanarieoarna
cancun,カンクン,坎昆
canton island,isla kanton,ilha de canton,kanton,canton adasi,kantonatollen,kanton ostrov,カントン島,坎顿岛
cape town,kapstadt,le cap,ciudad del cabo,citta del capo,kaapstad;capetonian
cape verde,cabo verde,cap vert,capo verde,kaapverdie,republika zielonego przyladka,kap verde,kapverdy,カーボベルデ,佛得角
cardiff,caerdydd
caribbean netherlands,karibische niederlande,caribe neerlandes,pays bas caribeens,caraibi olandesi
cartagena,cartagena de indias
casablanca,dar el beida
catalonia,catalunya,cataluna,katalonien;catalan,catalans
cayman islands,kaimaninseln,islas caiman,iles caimans,isole cayman,ilhas cayman,kaaimaneilanden,cayman adalari,kajmany
cayman,kaimaninseln,caimans,kajmany,caymanoarna,kajmanske ostrovy,ケイマン,开曼
central african republic,zentralafrikanische republik,republica centroafricana,republique centrafricaine
chad,tschad,tchad,ciad,chade,tsjaad,czad,チャド,乍得;chadian,chadians
chagos archipelago,chagosarchipel,czagos,チャゴス,查戈斯
chatham islands,chatnam,chathamske ostrovy,チャタム,查塔姆
chile,cile,sili,チリ,智利;chilean,chileans
china,cina,cin,chiny,中国,communist china,red china,cathay;chinese,taiwanese
chisinau,kisinev,kiszyniow,キシナウ,基希讷乌
chita,tschita,tchita,cita,czyta,tjita,チタ,赤塔
christmas island,weihnachtsinsel,isla de navidad,ile christmas,isola christmas,ilha christmas,christmaseiland
chuuk,chuukske ostrovy,チューク,特鲁克群岛
ciudad juarez,シウダー フアレス,华雷斯城,juarez
cluj,cluj napoca,klausenburg,kolozsvar
cocos islands,cocoseilanden,wyspy kokosowe,kokosoarna,kokosove ostrovy,ココス諸島,可可斯
cocos,kokosinseln,islas cocos,iles cocos,isole cocos,ilhas cocos,cocoseilanden,wyspy kokosowe,kokosoarna
cologne,koln,koeln,colonia,keulen
colombia,kolumbien,colombie,kolombiya,kolumbia,kolumbie,コロンビア,哥伦比亚;colombian,colombians
comoros,komoren,comoras,comores,comore,comoren,komorlar,komory,komorerna,コモロ,科摩罗,komor
congo brazzaville,kongo brazzaville,republica do congo,kongo brazavil,kongo,コンゴ共和国,刚果;congolese,zairean,zaireans
congo kinshasa,kongo kinshasa,republica democratica del congo,kongo kinsasa,demokratyczna republika konga,コンゴ民主共和国,刚果
cook islands,cookinseln,islas cook,iles cook,isole cook,ilhas cook,cookeilanden,cook adalari,wyspy cooka,cookoarna
copenhagen,kobenhavn,kopenhagen,copenhague,copenaghen,kodan,kopenhag,kopenhaga,kopenhamn,コペンハーゲン;;norrebro,vesterbro
cordoba,cordova,cordoue,コルドバ,科尔多瓦
costa rica,kosta rika,kostaryka,kostarika,コスタリカ,哥斯达黎加
croatia,kroatien,croacia,croatie,croazia,kroatie,hirvatistan,chorwacja,chorvatsko,クロアチア,克罗地亚;croatian,croatians
cuba,kuba,キューバ,古巴;cuban,cubans
cuiaba,クイアバ,库亚巴
curacao,curazao,キュラソー,库拉索
cuzco,cusco
cyprus,zypern,chipre,chypre,cipro,kibris,cypr,cypern,kypr,キプロス,塞浦路斯;cyprian,cyprians
czechia,czech republic,tschechien,cesko,chequia,tchequie,cechia,tchequia,tsjechie,cekya,czechy,tjeckien;czech,czechs
damascus,damaskus,damas,damasco,sam,damaszek,damasek,ダマスカス,大马士革
dar es salaam,daressalam,dar es salam,darusselam,ダルエスサラーム,达累斯萨拉姆
delhi,new delhi,neu delhi,nueva delhi
denmark,danemark,dinamarca,danimarca,denemarken,danimarka,dania,danmark,dansko,デンマーク,丹麦;danish
djibouti,dschibuti,yibuti,gibuti,djibuti,cibuti,dzibuti,dzibutsko,ジブチ,吉布提,afars and issas;djiboutian,djiboutians
dominica,dominique,dominika,ドミニカ国,多米尼克
dominican republic,dominikanische republik,republica dominicana,republique dominicaine;dominican,dominicans
dresden,dresde,dresda
dublin,baile atha cliath,dublino,ダブリン,都柏林;dubliner
dubrovnik,ragusa
dunkirk,dunkerque,duinkerke
dushanbe,duschanbe,dusambe,douchanbe,duchambe,doesjanbe,dusanbe,duszanbe,dusjanbe,ドゥシャンベ,杜尚别,dyushambe,stalinabad
easter island,osterinsel,isla de pascua,ile de paques,pasqua,ilha de pascoa,paaseiland,paskalya adasi
ecuador,equateur,equador,ekvador,ekwador,エクアドル,厄瓜多尔;ecuadorian,ecuadorians
edinburgh,edimbourg,edimburgo,dun eideann;;leith
egypt,agypten,egipto,egypte,egitto,egito,misir,egipt,egypten,エジプト,埃及;egyptian,egyptians
eirunepe,エイルネペ,依伦尼贝
el aaiun,laayoune,el ayun,layun,al ujun,アイウン,阿尤恩
el salvador,salvador,salwador,エルサルバドル,萨尔瓦多;salvadoran,salvadorans
england;english,englishman
equatorial guinea,aquatorialguinea,guinea ecuatorial,guinee equatoriale,guinea equatoriale,guine equatorial
eritrea,erythree,eritreia,eritre,erytrea,エリトリア,厄立特里亚;eritrean,eritreans
estonia,estland,estonie,estonya,estonsko,エストニア,爱沙尼亚,esthonia;estonian,estonians
eswatini,esuatini,essuatini,esvatini,エスワティニ,斯威士兰
ethiopia,athiopien,etiopia,ethiopie,etiyopya,etiopien,etiopie,エチオピア,埃塞俄比亚,yaltopya,abyssinia;ethiopian,ethiopians
falkland islands,falklandinseln,islas malvinas,iles malouines,isole falkland,ilhas malvinas,falklandeilanden
faroe islands,faroer,islas feroe,iles feroe,isole faer oer,ilhas faroe,faeroer,faroe adalari,wyspy owcze,faroarna
faroes,faroer,islas feroe,iles feroe,isole faer oer,ilhas faroe,faeroer,faroe,wyspy owcze,torshamn,faerske ostrovy
fernando de noronha,ノローニャ,洛罗尼亚
fez,fes
fiji,fidschi,fiyi,fidji,figi,fidzi,フィジー,斐济;fijian,fijians
finland,finnland,finlandia,finlande,finlandiya,finsko,フィンランド,芬兰,suomi;finnish
flanders,vlaanderen,flandern,flandre;flemish
florence,firenze,florenz,florencia,florenca,floransa;florentine
france,frankreich,francia,franca,frankrijk,fransa,francja,frankrike,francie,フランス,法国;french
frankfurt,frankfurt am main,francoforte,francfort,francfort sur le main
french guiana,franzosisch guayana,guayana francesa,guyane francaise,guyana francese,guiana francesa,frans guyana
french polynesia,franzosisch polynesien,polinesia francesa,polynesie francaise,polinesia francese,frans polynesie
french southern territories,franzosische sud und antarktisgebiete,territorios australes franceses
gabon,gabun,gabao,ガボン,加蓬;gabonese
galapagos islands,galapagos,galapagy,ガラパゴス,科隆群岛
galway,gaillimh
gambia,gambie,gambiya,ガンビア,冈比亚,the gambia;gambian,gambians
gdansk,danzig
geneva,geneve,genf,ginevra,ginebra,genebra,cenevre;genevan
genoa,genova,genua,genes;genoese
georgia,georgien,georgie,gurcistan,gruzja,gruzie,ジョージア,格鲁吉亚,sakartvelo,ga;georgian,georgians
germany,deutschland,alemania,allemagne,germania,alemanha,duitsland,almanya,niemcy,tyskland,nemecko,ドイツ;german,germans
ghana,gana,ガーナ,加纳;ghanaian,ghanaians
ghent,gand,gante
gibraltar,gibilterra,cebelitarik,ジブラルタル,直布罗陀,calpe;gibraltarian,gibraltarians
gothenburg,goteborg,gotemburgo,gotenburg,goeteborg
greece,griechenland,grecia,grece,griekenland,yunanistan,grecja,grekland,recko,ギリシャ,希腊,ellas;greek
greenland,gronland,groenlandia,groenland,grenlandia,gronsko,グリーンランド,格陵兰,kalaallit nunaat
grenada,granada,グレナダ,格林纳达;grenadian,grenadians
guadeloupe,guadalupe,guadalupa,gwadelupa,グアドループ,瓜德罗普
guam,グアム,关岛
guangzhou,kanton,广州,kuangchou,kwangchow
guatemala,gwatemala,グアテマラ,危地马拉;guatemalan,guatemalans
guernsey,guernesey,ガーンジー,根西岛
guinea bissau,guinea bisau,guinee bissau,guine bissau,gine bissau,gwinea bissau,ギニアビサウ,几内亚比绍,portuguese guinea
guinea,guinee,guine,gine,gwinea,ギニア,几内亚,french guinea;guinean,guineans
guyana,guiana,gujana,ガイアナ,圭亚那,british guiana;guyanese
haiti,ハイチ,海地;haitian,haitians,hispaniolan,hispaniolans
hamburg,hambourg,amburgo,hamburgo;;altona,st pauli,eimsbuttel
hanoi,ha noi
hanover,hannover
havana,la habana,havanna,la havane,l avana,hawana,ハバナ,哈瓦那
helsinki,helsingfors
ho chi minh city,saigon,ho chi minh,ho chi minh stadt,ciudad ho chi minh,ho chi minh ville,cidade de ho chi minh
honduras,ホンジュラス,洪都拉斯;honduran,hondurans
hong kong,hongkong,香港;hongkonger
honolulu,ホノルル,檀香山
hungary,ungarn,hungria,hongrie,ungheria,hongarije,macaristan,wegry,ungern,madarsko,ハンガリー,匈牙利;hungarian,hungarians
iceland,islandia,islande,islanda,ijsland,izlanda,アイスランド,冰岛;icelandic
india,indien,inde,hindistan,インド,印度,bharat;indian,indians
indonesia,indonesien,indonesie,endonezya,indonezja,インドネシア,印度尼西亚,dutch east indies;indonesian,indonesians
iran,イラン,伊朗,persia,persian empire;iranian,iranians
iraq,irak,iraque,イラク,伊拉克,al iraq;iraqi
ireland,irland,irlanda,irlande,ierland,irlandia,irsko,アイルランド,爱尔兰,hibernia,emerald isle,eire;irish
isle of man,isla de man,ile de man,isola di man,ilha de man,man adasi,wyspa man,ostrov man,マン島,马恩岛;manx
israel,israele,israil,izrael,イスラエル,以色列,yisrael,zion,sion;israeli
istanbul,estambul,istambul,constantinople,konstantinopel,stambul,stamboul;istanbulite;kadikoy,beyoglu,besiktas,uskudar
italy,italien,italia,italie,italya,wlochy,イタリア,意大利;italian,italians
ittoqqortoormiit,イトコルトルミット,斯科列斯比桑德
ivory coast,cote d ivoire,costa d avorio,costa do marfim,ivoorkust,elfenbenskusten,pobrezi slonoviny,コートジボワール;ivorian
izmir,smyrna,esmirna,smirne
jamaica,jamaika,jamaique,giamaica,jamajka,ジャマイカ,牙买加;jamaican,jamaicans
japan,japon,giappone,japao,japonya,japonia,japonsko,日本,japanese islands,japanese archipelago,nippon,nihon;japanese
jersey,ジャージー,泽西岛
jerusalem,jerusalen,gerusalemme,kudus;jerusalemite
jordan,jordanien,jordania,jordanie,giordania,urdun,jordansko,ヨルダン,约旦;jordanian,jordanians
kamchatka,kamtschatka,kamtchatka,kamtsjatka,kamcatka,kamczatka,kamtjatka,カムチャッカ,堪察加
karachi,karatschi,karaci,karaczi,カラチ,卡拉奇
kathmandu,katmandu,katmandou,カトマンズ,加德满都
kazakhstan,kasachstan,kazajistan,kazakistan,cazaquistao,kazachstan,kazakstan,カザフスタン,哈萨克斯坦,kazakh,kazak;kazakhstani
kenya,kenia,quenia,kena,ケニア,肯尼亚;kenyan,kenyans
kerguelen islands,wyspy kerguelena,kerguelenoarna,kerguelenovy ostrovy,ケルゲレン諸島,凯尔盖朗
khandyga,chandyga,khandiga,handiga,ハンドゥイガ,汉德加
khartoum,khartum,jartum,cartum,khartoem,hartum,chartum,ハルツーム,喀土穆
khovd,chowd,kobdo,chovd,ホブド,科布多
kiribati,quiribati,キリバス,基里巴斯
kirov,kirow,キーロフ,基洛夫
kolkata,calcutta,kalkutta,calcuta,kalkuta,kalkata,コルカタ,加尔各答;calcuttan,calcuttans
kosovo,kosova,kosowo,コソボ,科索沃
kostanay,qostanai,kostanai,kustanaj,kostanaj,コスタナイ,库斯塔奈
krakow,cracow,krakau,cracovie,cracovia
krasnoyarsk,krasnojarsk,krasnoiarsk,クラスノヤルスク,克拉斯诺亚尔斯克
kuwait,koweit,koeweit,kuveyt,kuwejt,kuvajt,クウェート,科威特;kuwaiti
kwajalein atoll,クェゼリン,夸贾林
kyiv,kiev,kiew,kyjiw,kijow,kyjev,キーウ,基辅
kyoto,kioto,quioto,京都
kyrgyzstan,kirgisistan,kirguistan,kirghizstan,kirghizistan,quirguistao,kirgizie,kirgizistan,kirgistan,キルギス;kyrgyzstani
kyzylorda,qysylorda,kzyl orda,kizilorda,クズロルダ,克孜洛尔达
la coruna,a coruna,corunna
laos,ラオス,老挝;laotian,laotians
latvia,lettland,letonia,lettonie,lettonia,letland,letonya,lotwa,lotyssko,ラトビア,拉脱维亚;latvian,latvians
lausanne,losanna,lausana
lebanon,libanon,libano,liban,lubnan,レバノン,黎巴嫩;lebanese
leipzig,lipsia
lesotho,lesoto,レソト,莱索托,basutoland
leuven,louvain,lowen,lovaina
liberia,liberya,liberie,リベリア,利比里亚;liberian,liberians
libya,libyen,libia,libye,libie,リビア,利比亚,socialist people s libyan arab jamahiriya;libyan,libyans
liechtenstein,lichtenstejnsko,リヒテンシュタイン,列支敦士登;liechtensteiner
liege,luik,luttich,lieja,liegi
lille,rijsel
lisbon,lisboa,lissabon,lisbonne,lisbona,lizbon,lizbona,lisabon,リスボン,里斯本;lisboeta;alfama,bairro alto,mouraria,graca
lithuania,litauen,lituania,lituanie,litouwen,litvanya,litwa,litva,リトアニア,立陶宛,lietuva;lithuanian,lithuanians
livorno,livourne
ljubljana,laibach,lubiana,liubliana
lome,ロメ,洛美
london,londres,londra,londen,londyn,ロンドン;londoner,londoners,cockney;camden,hackney,brixton,shoreditch,peckham,islington
lord howe island,ロードハウ,豪勋爵岛
lower prince s quarter,beneden prinsen kwartier,ローワー プリンセズ クウォーター,下太子区
lucerne,luzern,lucerna
luxembourg,luxemburg,luxemburgo,lussemburgo,luksemburg,lucembursko,ルクセンブルク,卢森堡;luxembourgian,luxembourgians,luxemburger
lviv,lvov,lwow,lemberg,leopoli
lyon,lyons,lione
macao,macau,makao,makau,マカオ,澳门
maceio,マセイオ,马塞约
madagascar,madagaskar,マダガスカル,马达加斯加;madagascan,madagascans
mahe,マヘ,马埃岛
majorca,mallorca,majorque,maiorca
malawi,malaui,malavi,マラウイ,马拉维,nyasaland;malawian,malawians
malaysia,malasia,malaisie,maleisie,malezya,malezja,malajsie,マレーシア,马来西亚;malaysian,malaysians
maldives,malediven,maldivas,maldive,maldiven,maldivler,malediwy,maldiverna,maledivy,モルディブ,马尔代夫,maldive islands
mali,マリ,马里,french sudan;malian,malians
malta,malte,マルタ,马耳他;maltese
mantua,mantova,mantoue
marquesas islands,marquises,marchesi,marquesaseilanden,markiz adalari,markizy,marquesasoarna,markezy,マルキーズ,马克萨斯
marrakesh,marrakech,marrakesch,marraquexe
marseille,marseilles,marsiglia,marsella,marselha
marshall islands,marshallinseln,islas marshall,iles marshall,isole marshall,ilhas marshall,marshalleilanden
martinique,martinica,martinik,martynika,マルティニーク,马提尼克
mauritania,mauretanien,mauritanie,moritanya,mauretania,モーリタニア,毛里塔尼亚,muritaniya
mauritius,mauricio,maurice,mauricius,モーリシャス,毛里求斯;mauritanian,mauritanians
mayotte,majotta,マヨット,马约特
mazatlan,マサトラン,马萨特兰
merida,メリダ,梅里达
mexico city,ciudad de mexico,cdmx,mexiko stadt,citta del messico;chilango,mexican,mexicans;coyoacan,condesa
mexico,mexiko,mexique,messico,meksika,meksyk,メキシコ,墨西哥
micronesia,mikronesien,micronesie,mikronezya,mikronezja,mikronesie,ミクロネシア連邦,密克罗尼西亚
midway atoll,midwayoarna,ミッドウェー島,中途岛
milan,milano,mailand,milaan,milao;milanese
mogadishu,mogadischu,mogadiscio,mogadisu,mogadiszu,モガディシオ,摩加迪沙
moldova,republik moldau,moldavia,moldavie,moldawia,moldavien,moldavsko,モルドバ,摩尔多瓦;moldovan,moldovans
monaco,monako,モナコ,摩纳哥;monacan,monacans
mongolia,mongolei,mongolie,mogolistan,mongoliet,mongolsko,モンゴル,蒙古,outer mongolia;mongol,mongolian,mongolians,mongoloid
montenegro,karadag,czarnogora,cerna hora,モンテネグロ,黑山,crna gora
montreal;montrealer
montserrat,モントセラト,蒙特塞拉特
morocco,marokko,marruecos,maroc,marocco,marrocos,fas,maroko,marocko,モロッコ,摩洛哥,al magrib;moroccan,moroccans
moscow,moskva,moskau,moscou,moscu,mosca,moskou,moskova,moskwa,モスクワ,莫斯科;muscovite
mozambique,mosambik,mozambico,mocambique,mozambik,モザンビーク,莫桑比克;mozambican,mozambicans
mumbai,bombay
munich,munchen,muenchen,monaco di baviera,munique,monachium
muscat,maskat,mascate,マスカット,马斯喀特,masqat
myanmar,burma,mianmar,mjanma,ミャンマー,缅甸;burmese
n djamena,yamena,ndzamena,ンジャメナ,恩贾梅纳,ndjamena,fort lamy
namibia,namibie,namibya,ナミビア,纳米比亚,south west africa;namibian,namibians
nanjing,nanking,南京
naples,napoli,neapel,napoles,napels;neapolitan,neapolitans
nauru,ナウル,瑙鲁,nauru island,pleasant island;nauruan,nauruans
nepal,ネパール,尼泊尔;nepalese
netherlands,the netherlands,holland,nederland,niederlande,paises bajos,pays bas,paesi bassi;dutch,dutchman
new caledonia,neukaledonien,nueva caledonia,nouvelle caledonie,nuova caledonia,nova caledonia,nieuw caledonie
new orleans,nouvelle orleans,nueva orleans,nola
new york,new york city,nyc,nueva york;new yorker,new yorkers;brooklyn,manhattan,queens,bronx,harlem,staten island
new zealand,nz,aotearoa,neuseeland,nueva zelanda,nouvelle zelande,nuova zelanda,nova zelandia;kiwi,new zealander
nicaragua,nikaragua,ニカラグア,尼加拉瓜;nicaraguan,nicaraguans
nice,nizza,niza
nicosia,lefkosia,lefkosa,nikosia,nicosie,nikozja,nikosie,ニコシア,尼科西亚
niger,nijer,ニジェール,尼日尔
nigeria,nijerya,nigerie,ナイジェリア,尼日利亚;nigerian,nigerians
niue,ニウエ,纽埃
norfolk island,norfolkinsel,isla norfolk,ile norfolk,isola norfolk,ilha norfolk,norfolk,norfolk adasi,norfolkon
normandy,normandie,normandia;norman,normans
north korea,nordkorea,corea del norte,coree du nord,corea del nord,coreia do norte,noord korea,kuzey kore
north macedonia,macedonia,nordmazedonien,macedonia del norte,macedoine du nord;macedonian,macedonians
northern ireland,nordirland,irlanda del norte,irlande du nord
northern mariana islands,nordliche marianen,islas marianas del norte,iles mariannes du nord
norway,norwegen,noruega,norvege,norvegia,noorwegen,norvec,norwegia,norge,norsko,ノルウェー,挪威,noreg;norwegian,norwegians
noumea,numea,ヌメア,努美阿
novokuznetsk,nowokuznetsk,novokuzneck,nowokuznieck,ノヴォクズネツク,新库兹涅茨克
novosibirsk,nowosibirsk,novossibirsk,nowosybirsk,ノヴォシビルスク,新西伯利亚
nuremberg,nurnberg,nuernberg,norimberga,neurenberg
nuuk,ヌーク,努克
odesa,odessa
oman,oma,umman,オマーン,阿曼,muscat and oman;omani
osaka,大阪
ostend,oostende,ostende
padua,padova,padoue,patavium
pakistan,paquistao,パキスタン,巴基斯坦,west pakistan;pakistani
palau,palaos,パラオ,帕劳,palau islands,belau,pelew
palermo,palerme
palestine,palastina,palestina,filistin,palestyna,パレスチナ,巴勒斯坦,canaan,holy land;palestinian,palestinians
pamplona,iruna
panama,パナマ,巴拿马;panamanian,panamanians
papua new guinea,papua neuguinea,papua nueva guinea,papouasie nouvelle guinee,papua nuova guinea,papua nova guine
paraguay,paraguai,paragwaj,パラグアイ,巴拉圭;paraguayan,paraguayans
paris,parigi,parijs;parisian,parisians;montmartre,belleville,le marais
peru,perou,ペルー,秘鲁;peruvian,peruvians
philadelphia,philly
philippines,philippinen,filipinas,filippine,filipijnen,filipinler,filipiny,filippinerna,フィリピン,菲律宾;filipino
phnom penh,pnom penh
pilsen,plzen
pitcairn islands,pitcairninseln,islas pitcairn,iles pitcairn,isole pitcairn,ilhas pitcairn,pitcairneilanden
pohnpei,ポンペイ島,波纳佩岛
poland,polen,polonia,pologne,polonya,polska,polsko,ポーランド,波兰;polish
porto novo,portonovo,ポルトノボ,波多诺伏
porto,oporto
portugal,portogallo,portekiz,portugalia,portugalsko,ポルトガル,葡萄牙;portuguese
poznan,posen
prague,praha,prag,praga,praag,プラハ,布拉格;;zizkov,vinohrady
puerto rico,porto rico,portorico,porto riko,portoryko,portoriko,プエルトリコ,波多黎各
pyongyang,pjongjang,pchjongjang,平壌,平壤
qatar,katar,catar,カタール,卡塔尔,qatar peninsula,katar peninsula;qatari
quebec,quebec city;quebecois
regensburg,ratisbon,ratisbona
reunion,la reunion,riunione,reuniao,レユニオン,留尼汪,la riunione
reykjavik,reyk ja vik,reikiavik,レイキャビク,雷克雅未克
rio de janeiro,rio;carioca;copacabana,ipanema,santa teresa
riyadh,riad,riyad,riade,rijad,リヤド,利雅得
romania,rumanien,rumania,roumanie,romenia,roemenie,romanya,rumunia,rumunsko,ルーマニア,罗马尼亚,roumania;romanian,romanians
rome,roma,rom,rzym,ローマ,罗马;roman,romans;trastevere,testaccio,monti
russia,russland,rusia,russie,rusland,rusya,rosja,ryssland,rusko,ロシア,俄罗斯,russian federation;russian,russians,soviet
rwanda,ruanda,ルワンダ,卢旺达;rwandan,rwandans
saint petersburg,st petersburg,sankt petersburg,san petersburgo,leningrad,peterburg,petrograd
saint pierre,miquelon,ミクロン島,密克隆
sakhalin,sachalin,sajalin,sakhaline,sacalina,sahalin,サハリン,萨哈林
salzburg,salzbourg,salisburgo,salzburgo
samoa,サモア,萨摩亚,samoan islands,western samoa,samoa i sisifo;samoan,samoans
san francisco,sf
san marino,saint marin,サンマリノ,圣马力诺
san sebastian,donostia
santarem,サンタレム,圣塔伦
santiago de compostela,saint jacques de compostelle
sao paulo,san paolo,サンパウロ,圣保罗;paulistano
sao tome principe,sao tome und principe,santo tome y principe,sao tome et principe,sao tome e principe
sao tome,santo tome,svaty tomas,サントメ,圣多美
saragossa,zaragoza,saragosse
saratov,saratow,サラトフ,萨拉托夫
sardinia,sardegna,sardinien;sardinian,sardinians
saudi arabia,saudi arabien,arabia saudi,arabie saoudite,arabia saudita,saoedi arabie,suudi arabistan,arabia saudyjska
scotland,schottland,escocia,ecosse,scozia,schotland,iskocya;scottish,scots
senegal,セネガル,塞内加尔;senegalese
seoul,seul,서울
serbia,serbien,serbie,servia,servie,sirbistan,srbsko,セルビア,塞尔维亚,srbija;serbian,serbians
seville,sevilla,siviglia,sevilha;sevillian
seychelles,seychellen,seicheles,seyseller,seszele,seychellerna,seychely,セーシェル,塞舌尔,seychelles islands;seychellois
shanghai,schanghai,上海
sicily,sicilia,sizilien,sicile;sicilian,sicilians
sierra leone,sierra leona,serra leoa,シエラレオネ,塞拉利昂
singapore,singapur,singapour,singapura,シンガポール,新加坡,singapore island;singaporean,singaporeans
sint maarten,saint martin,svaty martin,シント マールテン,荷属圣马丁
slovakia,slowakei,eslovaquia,slovaquie,slovacchia,slowakije,slovakya,slowacja,slovakien,slovensko;slovakian,slovakians
slovenia,slowenien,eslovenia,slovenie,slovenya,slowenia,slovenien,slovinsko,スロベニア,斯洛文尼亚,slovenija;slovenian,slovenians
sofia,sofija,serdica
solomon islands,salomonen,islas salomon,iles salomon,isole salomone,ilhas salomao,salomonseilanden,solomon adalari
somalia,somalie,somali,somalsko,ソマリア,索马里;somalian,somalians
south africa,rsa,sudafrika,sudafrica,afrique du sud,africa do sul,zuid afrika,guney afrika;south african,afrikaans
south georgia south sandwich islands,sudgeorgien und die sudlichen sandwichinseln
south georgia,sudgeorgien,georgia del sur,georgie du sud,georgia del sud,georgia do sul,zuid georgia,guney georgia
south korea,korea,republic of korea,sudkorea,corea del sur,coree du sud,corea del sud,coreia do sul;korean,koreans
south sudan,sudsudan,sudan del sur,soudan du sud,sud sudan,sudao do sul,zuid soedan,guney sudan,sudan poludniowy
spain,spanien,espana,espagne,spagna,espanha,spanje,ispanya,hiszpania,spanelsko,スペイン,西班牙;spanish
sri lanka,スリランカ,斯里兰卡,ceylon
st barthelemy,san bartolome,saint barthelemy,sao bartolomeu,s t barthelemy,svaty bartolomej,サン バルテルミー,圣巴泰勒米,圣巴泰勒米岛
st helena,santa elena,sainte helene,sant elena,santa helena,sint helena,saint helena,wyspa swietej heleny,s t helena
st john s,san juan de terranova,saint jean de terre neuve,saint john s,セントジョンズ,圣约翰斯
st kitts nevis,st kitts und nevis,san cristobal y nieves,saint christophe et nieves,saint kitts e nevis
st kitts,san cristobal,saint christophe,sao cristovao,saint kitts,svaty krystof,セントクリストファー,圣基茨
st lucia,santa lucia,sainte lucie,saint lucia,s t lucia,svata lucie,セントルシア,圣卢西亚
st martin,san martin,saint martin,sao martinho,svaty martin,サン マルタン,法属圣马丁,saint maarten,st maarten
st pierre miquelon,st pierre und miquelon,san pedro y miquelon,saint pierre et miquelon,saint pierre e miquelon
st thomas,saint thomas,svaty tomas karibik,セントトーマス,圣托马斯
st vincent grenadines,st vincent und die grenadinen,san vicente y las granadinas,saint vincent et les grenadines
st vincent,san vicente,saint vincent,sao vicente,svaty vincenc,セントビンセント,圣文森特
strasbourg,strassburg,strasburgo,estrasburgo,straatsburg
stuttgart,stoccarda
sudan,soudan,sudao,soedan,スーダン,苏丹;sudanese
suriname,surinam,スリナム,苏里南,dutch guiana,netherlands guiana
svalbard jan mayen,spitzbergen und jan mayen,svalbard y jan mayen,svalbard et jan mayen,svalbard e jan mayen
swansea,abertawe
sweden,schweden,suecia,svezia,zweden,isvec,szwecja,sverige,svedsko,スウェーデン,瑞典;swedish
switzerland,schweiz,suisse,svizzera,suiza,suica,zwitserland,isvicre,szwajcaria,svycarsko,スイス,瑞士;swiss
syracuse,siracusa
syria,syrien,siria,syrie,suriye,シリア,叙利亚;syrian,syrians
szczecin,stettin
taipei,taipeh,台北,tajpej,tchaj pej
taiwan,tayvan,tajwan,tchaj wan,台湾,formosa,nationalist china
tajikistan,tadschikistan,tayikistan,tadjikistan,tagikistan,tadjiquistao,tadzjikistan,tacikistan,tadzykistan;tajikistani
tallinn,reval,tallin
tampere,tammerfors
tangier,tanger,tangeri,tangiers
tanzania,tansania,tanzanie,tanzanya,タンザニア,坦桑尼亚;tanzanian,tanzanians
tashkent,taschkent,taskent,tachkent,tasjkent,taszkient,タシケント,塔什干
tbilisi,tiflis,tbilissi,トビリシ,第比利斯
tehran,teheran,teera,tahran,テヘラン,德黑兰;tehrani
tel aviv,tel aviv yafo,tel aviv yalo,tel aviv jaffa
thailand,tailandia,thailande,thailandia,tayland,tajlandia,thajsko,タイ,泰国,siam;thai
the hague,den haag,la haye,la haya,l aia,haag,s gravenhage
thessaloniki,salonica,saloniki,tesalonica,salonicco,selanik,salonika,thessalonica
timisoara,temeswar
timor leste,timor oriental,timor est,oost timor,timor wschodni,osttimor,vychodni timor,東ティモール,东帝汶
tirana,tiran,ティラナ,地拉那
togo,トーゴ,多哥;togolese
tokelau,tokelauoarna,トケラウ,托克劳
tokyo,tokio,toquio,東京,东京,yeddo,yedo,edo;;shibuya,shinjuku,asakusa,shimokitazawa
tonga,トンガ,汤加,friendly islands;tongan,tongans
toulouse,tolosa
trieste,triest,trst
trinidad tobago,trinidad und tobago,trinidad y tobago,trinite et tobago,trinidad e tobago,trinidad en tobago
tripoli,tripolis,tripoli libye,trablus,trypolis,トリポリ,的黎波里,tarabulus al gharb
tunisia,tunesien,tunez,tunisie,tunesie,tunus,tunezja,tunisien,tunisko,チュニジア,突尼斯;tunisian,tunisians
turin,torino,turim;turinese
turkey,turkiye,turkei,turquia,turquie,turchia,turkije,turcja,turkiet,turecko,トルコ,土耳其;turkish,turks
turkmenistan,turcomenistao,トルクメニスタン,土库曼斯坦,turkomen,turkmenia;turkmen
turks caicos islands,turks und caicosinseln,islas turcas y caicos,iles turques et caiques,isole turks e caicos
turku,abo
tuscany,toscana,toskana,toscane;tuscan,tuscans
tuvalu,ツバル,图瓦卢,ellice islands
u s virgin islands,amerikanische jungferninseln,islas virgenes de ee uu,iles vierges des etats unis
uganda,ouganda,oeganda,ウガンダ,乌干达;ugandan,ugandans
ukraine,ucrania,ucraina,oekraine,ukrayna,ukraina,ukrajina,ウクライナ,乌克兰,ukrayina;ukrainian,ukrainians
ulaanbaatar,ulan bator,urga,kulun
ulyanovsk,uljanowsk,ulianovsk,oulianovsk,uljanovsk,ウリヤノフスク,乌里扬诺夫斯克
united arab emirates,uae,emirates,vereinigte arabische emirate,emiratos arabes unidos,emirats arabes unis;emirati
united kingdom,uk,gb,great britain,britain,grossbritannien,vereinigtes konigreich,reino unido;british,britons
united states,usa,us,united states of america,america,estados unidos,etats unis,stati uniti;american,americans
uruguay,uruguai,urugwaj,ウルグアイ,乌拉圭;uruguayan,uruguayans
urumqi,urumci,urumczi,ウルムチ,乌鲁木齐
uzbekistan,usbekistan,ouzbekistan,uzbequistao,oezbekistan,ozbekistan,ウズベキスタン,乌兹别克斯坦,uzbek;uzbekistani
vanuatu,バヌアツ,瓦努阿图,new hebrides
vatican city,vatikanstadt,ciudad del vaticano,etat de la cite du vatican,citta del vaticano,cidade do vaticano
vatican,vatikan,el vaticano,le vatican,citta del vaticano,vaticano,vaticaanstad,watykan,vatikanen,バチカン,梵蒂冈
venezuela,wenezuela,ベネズエラ,委内瑞拉;venezuelan,venezuelans
venice,venezia,venedig,venise,venecia,veneza,venetie,venedik;venetian,venetians
verona,verone
vienna,wien,vienne,viena,wenen,viyana,becs,wieden,viden,ウィーン,维也纳;viennese
vietnam,viet nam,vietna,wietnam,ベトナム,越南,annam;vietnamese
vilnius,wilna,wilno,vilna,vilno
vitoria,vitoria gasteiz,gasteiz
vladivostok,wladiwostok,wladywostok,ウラジオストク,海参崴
volgograd,wolgograd,volgogrado,ボルゴグラード,伏尔加格勒,stalingrad,tsaritsyn
wake island,ウェーク島,威克
wales,pays de galles,gales,galles,cymru,cambria;welsh
wallis futuna,wallis und futuna,wallis y futuna,wallis et futuna,wallis e futuna,wallis en futuna,wallis ve futuna
wallonia,wallonie;walloon
warsaw,warszawa,warschau,varsovie,varsovia,varsavia,varsova,varsava,ワルシャワ,华沙;varsovian;praga polnoc,mokotow
washington,washington dc,washington d c;washingtonian,washingtonians
western sahara,westsahara,sahara occidental,sahara occidentale,saara ocidental,westelijke sahara,bati sahra
wroclaw,breslau,breslavia
yakutsk,jakutsk,iakoutsk,jakoetsk,jakuck,ヤクーツク,雅库茨克
yangon,rangoon,rangun,yangon rangun,rangoun,rangum,ヤンゴン,仰光
yekaterinburg,jekaterinburg,ekaterimburgo,ekaterinbourg,ekaterinburg,ecaterimburgo,jekaterinenburg,jekaterynburg
yemen,jemen,iemen,イエメン,也门;yemeni
yerevan,eriwan,erevan,jerevan,erivan,erywan,エレバン,埃里温
zagreb,agram,zagabria
zambia,sambia,zambie,zambiya,ザンビア,赞比亚,northern rhodesia;zambian,zambians
zimbabwe,simbabwe,zimbabue,zimbabve,ジンバブエ,津巴布韦,rhodesia,southern rhodesia;rhodesian,rhodesians,zimbabwean,zimbabweans
zurich,zurigo,zuerich,zurique,zurih,zurych,curych,チューリッヒ,苏黎世
ブルンジ,布隆迪;burundi$places$, '\n') as line;
