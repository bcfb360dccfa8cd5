/** Words of the database, of stack traces and of file names, which must not be in an error for clients. */
export const internals = new RegExp(
  'sqlstate|postgres|relation "|violates|syntax error|pg_|plpgsql|select |insert into|at (file|https?):|\\.ts:\\d|' +
    'node_modules|\\bzod|stack',
  'i',
)
