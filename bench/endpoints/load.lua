-- The script for wrk: sends the requests of a file (method, path, token, body; separated by tabs) in random order and
-- prints the result as JSON. NEW_UUID in a body becomes a new UUID each time. Arguments: the file, the random seed, and
-- the index to start from, which sends in order.
local requests = {}
local length = 0
local from
local placeholder = ('#'):rep(36)

function init(args)
  math.randomseed(os.time() * 1000 + tonumber(args[2] or 0))
  for line in io.lines(args[1]) do
    local method, path, token, body = line:match('^(%S+)\t(%S+)\t(%S*)\t(.*)$')
    local headers = {
      ['Authorization'] = 'Bearer ' .. token,
      ['apikey'] = 'sb_publishable_bench',
      -- Requests come from many addresses, because rate limits count per address.
      ['CF-Connecting-IP'] = ('10.%d.%d.%d'):format(math.random(0, 255), math.random(0, 255), math.random(0, 255)),
      ['Content-Type'] = body ~= '' and 'application/json' or nil,
    }
    length = length + 1
    -- The placeholder has the length of a UUID, so that Content-Length is right.
    body = body:gsub('NEW_UUID', placeholder)
    requests[length] = wrk.format(method, path, headers, body ~= '' and body or nil)
  end
  from = tonumber(args[3])
end

local function uuid()
  return ('%08x-%04x-4%03x-8%03x-%06x%06x'):format(
    math.random(0, 0x7fffffff), math.random(0, 0xffff), math.random(0, 0xfff), math.random(0, 0xfff),
    math.random(0, 0xffffff), math.random(0, 0xffffff)
  )
end

function request()
  local text = requests[from and from % length + 1 or math.random(length)]
  from = from and from + 1
  local first, last = text:find(placeholder, 1, true)
  return first and text:sub(1, first - 1) .. uuid() .. text:sub(last + 1) or text
end

function done(summary, latency)
  local errors = summary.errors
  io.write(('{"requests": %d, "seconds": %f, "failed": %d, "p50": %f, "p99": %f}\n'):format(
    summary.requests, summary.duration / 1e6,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000
  ))
end
