/** What only somebody who sees the inside could know: words of the database, of a stack, of a file. */
export const inside =
  /sqlstate|postgres|relation "|violates|syntax error|pg_|plpgsql|select |insert into|at (file|https?):|\.ts:\d|node_modules|\bzod|stack/i
