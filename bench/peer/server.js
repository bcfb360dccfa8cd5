/**
 * The same endpoints with Express and Sequelize, as a team without row level security or functions in the database
 * would write them: one Node process, models, a statement or two a request. `npm run bench -- --against=express`
 * measures it. It spares what ours does beside: no events, changes, outbox, stored replies, rate limits or blocks, and
 * it believes a token without asking whether the account is still active.
 */
import express from 'express'
import jwt from 'jsonwebtoken'
import { col, DataTypes, fn, Op, Sequelize } from 'sequelize'

const { BOOLEAN, DATE, INTEGER, JSONB, NOW, TEXT } = DataTypes
const { PEER_DATABASE_URL, DATABASE_POOL, JWT_SECRET } = process.env
const sequelize = new Sequelize(PEER_DATABASE_URL, {
  logging: false,
  pool: { max: Number(DATABASE_POOL), min: Number(DATABASE_POOL) },
  define: { schema: 'peer', underscored: true, timestamps: false },
})

const createdAt = { type: DATE, allowNull: false, defaultValue: NOW }
const User = sequelize.define('user', {
  name: TEXT,
  email: TEXT,
  bio: TEXT,
  location: TEXT,
  role: TEXT,
  is_active: BOOLEAN,
})
const Profile = sequelize.define('profile', {
  user_id: { type: INTEGER, unique: true },
  first_name: TEXT,
  last_name: TEXT,
  age: INTEGER,
  biography: TEXT,
  country: TEXT,
  city: TEXT,
  image_url: TEXT,
  is_searchable: BOOLEAN,
})
const Interest = sequelize.define('interest', { name: TEXT })
const ProfileInterest = sequelize.define('profile_interest', {})
const Conversation = sequelize.define('conversation', { voyager_id: INTEGER, local_id: INTEGER, createdAt }, {
  indexes: [
    {
      name: 'one_per_pair',
      unique: true,
      fields: [fn('least', col('voyager_id'), col('local_id')), fn('greatest', col('voyager_id'), col('local_id'))],
    },
    { fields: ['voyager_id'] },
    { fields: ['local_id'] },
  ],
})
const Message = sequelize.define('message', {
  conversation_id: INTEGER,
  user_id: INTEGER,
  content: { type: TEXT, validate: { len: [1, 5000] } },
  attachment: JSONB,
  read: { type: BOOLEAN, defaultValue: false },
  createdAt,
}, { indexes: [{ fields: ['conversation_id', 'id'] }] })
User.hasOne(Profile, { as: 'Profile', foreignKey: 'user_id' })
Profile.belongsTo(User, { as: 'User', foreignKey: 'user_id' })
Profile.belongsToMany(Interest, { as: 'Interests', through: ProfileInterest, foreignKey: 'profile_id' })
Interest.belongsToMany(Profile, { through: ProfileInterest, foreignKey: 'interest_id' })
Conversation.belongsTo(User, { as: 'Voyager', foreignKey: 'voyager_id' })
Conversation.belongsTo(User, { as: 'Local', foreignKey: 'local_id' })
Conversation.hasMany(Message, { as: 'Messages', foreignKey: 'conversation_id' })
Message.belongsTo(User, { as: 'Sender', foreignKey: 'user_id' })
Message.belongsTo(Conversation, { as: 'Conversation', foreignKey: 'conversation_id' })

const fail = (status, message, more) => {
  throw Object.assign(new Error(message), { status, more })
}
const requireUser = (request, _response, next) => {
  try {
    const token = (request.headers.authorization ?? '').replace('Bearer ', '')
    // The ids of the bench's auth users end in 100,000 plus the user's id.
    request.me = Number(jwt.verify(token, JWT_SECRET, { algorithms: ['HS256'] }).sub.slice(-6)) - 100_000
  } catch {
    fail(401, 'Not authenticated')
  }
  next()
}
const isMine = (me) => ({ [Op.or]: [{ voyager_id: me }, { local_id: me }] })
const interests = { model: Interest, as: 'Interests', attributes: ['id', 'name'], through: { attributes: [] } }
const person = (as, attributes = ['id', 'name']) => ({ model: User, as, attributes })
const myConversation = async ({ params, me }, include = []) =>
  await Conversation.findOne({ where: { id: params.id, ...isMine(me) }, include }) ??
    fail(404, 'Conversation not found')

const app = express()
app.use(express.json())

app.get('/conversations', requireUser, async ({ me }, response) => {
  const list = await Conversation.findAll({
    where: isMine(me),
    include: [
      person('Voyager', ['id', 'name', 'email']),
      person('Local', ['id', 'name', 'email']),
      {
        model: Message,
        as: 'Messages',
        attributes: ['id', 'conversation_id', 'content', 'user_id', 'read', 'createdAt'],
        separate: true,
        limit: 1,
        order: [['id', 'DESC']],
      },
    ],
  })
  const activeAt = ({ Messages, createdAt }) => Messages[0]?.createdAt ?? createdAt
  list.sort((a, b) => activeAt(b) - activeAt(a) || b.id - a.id)
  for (const { Messages } of list) if (Messages[0]) delete Messages[0].dataValues.conversation_id
  response.json(list)
})

app.post('/conversations', requireUser, async ({ me, body }, response) => {
  if (body.other_user_id === me) fail(400, 'Nobody converses with themselves')
  const pair = {
    [Op.or]: [[me, body.other_user_id], [body.other_user_id, me]].map(([voyager_id, local_id]) => ({
      voyager_id,
      local_id,
    })),
  }
  const found = await Conversation.findOne({ where: pair })
  if (found) fail(409, 'The conversation exists', { conversation_id: found.id })
  if (!await User.findOne({ where: { id: body.other_user_id, is_active: true } })) fail(404, 'User not found')
  const { id, voyager_id, local_id } = await Conversation.create({ voyager_id: me, local_id: body.other_user_id })
  response.status(201).json({ id, voyager_id, local_id })
})

app.get('/conversations/:id/messages', requireUser, async (request, response) => {
  const { limit = 50, offset = 0 } = request.query
  const { id } = await myConversation(request)
  response.json(
    await Message.findAll({
      where: { conversation_id: id },
      include: person('Sender'),
      order: [['id', 'DESC']],
      limit: Math.min(limit, 100),
      offset,
    }),
  )
})

app.post('/conversations/:id/messages', requireUser, async (request, response) => {
  const { me, body } = request
  const { id, Voyager, Local } = await myConversation(request, [person('Voyager'), person('Local')])
  const { content, attachment = null } = body
  const message = await Message.create({ conversation_id: id, user_id: me, content, attachment })
  response.status(201).json({ ...message.toJSON(), Sender: Voyager.id === me ? Voyager : Local })
})

app.get('/users/me', requireUser, async ({ me }, response) => {
  response.json(await User.findByPk(me, { include: { model: Profile, as: 'Profile', include: interests } }))
})

// Plain full text; as in ours a profile is found by any word of the query. peer.ts fills peer.search.
app.get('/users/search', async ({ query }, response) => {
  const [interests, cities, countries] = ['filterInterests', 'filterCity', 'filterCountry']
    .map((name) => [query[name] ?? []].flat())
  const hits = await sequelize.query(
    `select
      id, user_id, name, biography, city, country, interests, image_url, ts_rank_cd(words, wanted) as score,
      (count(*) over ())::integer as total
    from peer.search
    cross join websearch_to_tsquery('english', $1) as wanted
    where words @@ wanted
      and ($2::text[] = '{}' or interests && $2)
      and ($3::text[] = '{}' or city = any ($3))
      and ($4::text[] = '{}' or country = any ($4))
    order by score desc, id
    limit 20`,
    {
      bind: [query.q.trim().replaceAll(/\s+/g, ' or '), interests, cities, countries],
      type: Sequelize.QueryTypes.SELECT,
    },
  )
  response.json({
    hits: hits.map(({ total: _, ...hit }) => hit),
    query: query.q,
    estimatedTotalHits: hits[0]?.total ?? 0,
    limit: 20,
    offset: 0,
  })
})

app.get('/users/:id', async ({ params }, response) => {
  const found = await Profile.findByPk(params.id, { include: [interests, person('User', ['id', 'name', 'is_active'])] })
  if (!found) fail(404, 'Profile not found')
  const { User: { id, name, is_active }, Interests, user_id: _, is_searchable, ...profile } = found.toJSON()
  if (!is_searchable || !is_active) fail(403, 'This profile is not public')
  response.set('Cache-Control', 'public, max-age=3600').json({
    id,
    name,
    profile: { ...profile, interests: Interests },
  })
})

app.use((error, _request, response, _next) => {
  response.status(error.status ?? 500).json({ error: error.message, ...error.more })
})

await sequelize.createSchema('peer')
await sequelize.sync()
const server = app.listen(0, '127.0.0.1', () => console.error(`ready http://127.0.0.1:${server.address().port}`))
