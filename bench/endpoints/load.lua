-- wrk's side of the bench: sends the requests of a file (method, path, token, body; tabs between) in random order and prints what came back
-- as JSON. NEWKEY in a body becomes another UUID each time. With a mean pause in milliseconds each connection waits before it asks again.
-- With a number to begin from, requests go in order.
local requests = {}
local length = 0
local pause
local from

function init(args)
  math.randomseed(os.time() * 1000 + tonumber(args[3] or 0))
  for line in io.lines(args[1]) do
    local method, path, token, body = line:match('^(%S+)\t(%S+)\t(%S*)\t(.*)$')
    local headers = {
      ['Authorization'] = 'Bearer ' .. token,
      ['apikey'] = 'sb_publishable_bench',
      -- Requests come from different places, and limits count for each.
      ['CF-Connecting-IP'] = ('10.%d.%d.%d'):format(math.random(0, 255), math.random(0, 255), math.random(0, 255)),
      ['Content-Type'] = body ~= '' and 'application/json' or nil,
    }
    length = length + 1
    -- As long as what takes its place, so that Content-Length is right.
    body = body:gsub('NEWKEY', ('#'):rep(36))
    requests[length] = wrk.format(method, path, headers, body ~= '' and body or nil)
  end
  pause = tonumber(args[2] or 0)
  from = tonumber(args[4])
  if pause > 0 then
    delay = function() return math.floor(-math.log(1 - math.random()) * pause + 0.5) end
  end
end

local function key()
  return ('%08x-%04x-4%03x-8%03x-%06x%06x'):format(
    math.random(0, 0x7fffffff), math.random(0, 0xffff), math.random(0, 0xfff), math.random(0, 0xfff),
    math.random(0, 0xffffff), math.random(0, 0xffffff)
  )
end
local marks = ('#'):rep(36)

function request()
  local text = requests[from and from % length + 1 or math.random(length)]
  from = from and from + 1
  local first, last = text:find(marks, 1, true)
  return first and text:sub(1, first - 1) .. key() .. text:sub(last + 1) or text
end

function done(summary, latency)
  io.write(('{"requests": %d, "seconds": %f, "failed": %d, "p50": %f, "p99": %f}\n'):format(
    summary.requests, summary.duration / 1e6,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000
  ))
end
