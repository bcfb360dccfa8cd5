-- The Edge Functions call every API function, and nobody else calls any.
grant execute on all functions in schema api to edge_functions;
