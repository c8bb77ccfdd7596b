export type ErrorDetails = Readonly<Record<string, string | number | boolean | undefined>>

interface CatalogEntry {
  /** The HTTP status with which an HTTP interface answers. */
  readonly status: number
  /** What the user reads: what happened and what to do. `{name}` is filled in from the error's details. */
  readonly message: string
}

/** Every error code of the program. docs/reference/errors.md lists the same codes, and a test compares the two. */
export const errorCatalog = {
  stopping: { status: 503, message: 'Sluice is stopping; try again in a moment.' },
  workers_unsupported: {
    status: 400,
    message: 'Threads cannot share a port on this system; run with --gateway-workers 1.',
  },
  metrics_unavailable: { status: 503, message: 'What the gateway counts could not be gathered in time; try again.' },
  lifecycle_deadline: { status: 500, message: '{component} did not {phase} within {seconds} s.' },
  internal_error: {
    status: 500,
    message: 'Something went wrong inside Sluice. The log has the details under this request id.',
  },

  // Inference: the gateway and the engine
  route_not_found: {
    status: 404,
    message: 'There is no {method} {path} here.',
  },
  method_not_allowed: { status: 405, message: '{path} does not take {method}; use {allowed}.' },
  invalid_json: { status: 400, message: 'The request body is not valid JSON: {reason}.' },
  invalid_request: { status: 400, message: '{reason}' },
  unsupported_parameter: { status: 400, message: 'The parameter {param} is not supported: {reason}.' },
  unsupported_media_type: { status: 415, message: 'Send the body as {expected}, not {received}.' },
  model_required: { status: 400, message: 'Say which model this is for with {how}. Models here: {models}.' },
  model_not_found: {
    status: 404,
    message: 'The model {model} does not exist. The list of models shows those that do.',
  },
  invalid_api_key: {
    status: 401,
    message:
      'This gateway asks for an API key, and {reason}. Send "Authorization: Bearer sk-…"; `sluice key create` makes one.',
  },
  api_key_expired: { status: 401, message: 'This API key has expired. `sluice key create` makes a new one.' },
  model_not_allowed: { status: 403, message: 'This API key does not allow {what}.' },
  gateway_starting: {
    status: 503,
    message: 'The gateway has not seen the {what} of the cluster yet; try again in {retryAfterSeconds} s.',
  },
  model_unavailable: { status: 503, message: 'The model {model} cannot start: {reason}' },
  wake_deadline: { status: 503, message: 'The model {model} did not wake within {seconds} s: {reason}' },
  model_busy: { status: 503, message: 'Every Pod of the model {model} was busy for {seconds} s; try again later.' },
  waiting_room_full: {
    status: 429,
    message: '{waiting} requests already wait for {model}; try again in {retryAfterSeconds} s.',
  },
  engine_memory_full: {
    status: 503,
    message: 'The engine has no memory for another conversation or a longer one; try again later.',
  },
  gateway_overloaded: {
    status: 503,
    message: 'The gateway holds as many request bodies as it can; try again in {retryAfterSeconds} s.',
  },
  address_overloaded: {
    status: 429,
    message:
      'Requests from your address hold {limitBytes} bytes of bodies already, as many as one address may. Send fewer at a time; try again in {retryAfterSeconds} s.',
  },
  upstream_failed: { status: 502, message: 'The server of the model {model} failed before it answered: {reason}.' },
  upstream_broke_off: {
    status: 502,
    message: 'The server of the model {model} broke off in the middle of the answer.',
  },
  client_gone: { status: 499, message: 'The client left before the answer was complete.' },
  body_too_large: { status: 413, message: 'The request body is larger than {limitBytes} bytes.' },
  context_length_exceeded: {
    status: 400,
    message:
      'The request needs {tokens} tokens, but the model has room for {limit}. Shorten the messages or lower max_tokens.',
  },
  answer_deadline: { status: 504, message: 'The answer was not complete after {seconds} s.' },
  engine_loading: { status: 503, message: 'The model {model} is still loading ({percent} %); try again in a moment.' },
  engine_key_required: {
    status: 401,
    message:
      'This engine answers whoever has its key, which is its gateway: ask there, or send the key as "Authorization: Bearer …".',
  },
  engine_start_failed: { status: 500, message: 'The engine cannot start: {reason}' },
  model_files_unusable: { status: 422, message: 'The engine cannot serve these files: {reason}' },
  // HTTP itself: the relay
  invalid_http: { status: 400, message: 'The request is not valid HTTP/1.1: {reason}.' },
  request_timeout: { status: 408, message: 'The request did not arrive within {seconds} s.' },
  body_too_slow: { status: 408, message: 'The request body came too slowly: {reason}. Send it again.' },
  too_many_connections: {
    status: 429,
    message:
      'There are {limit} connections from your address already, as many as one may have. Close some, or try again in {retryAfterSeconds} s.',
  },
  server_full: {
    status: 503,
    message: 'This server has as many connections as it can; try again in {retryAfterSeconds} s.',
  },
  target_too_long: { status: 414, message: 'The request line is longer than {limitBytes} bytes.' },
  expectation_failed: { status: 417, message: 'The only expectation this server can meet is 100-continue.' },
  head_too_large: { status: 431, message: 'The header fields are larger than this server takes: {reason}.' },
  method_not_implemented: { status: 501, message: 'The method {method} is not known here.' },
  transfer_coding_not_implemented: { status: 501, message: 'The only transfer coding understood here is chunked.' },
  bad_gateway: { status: 502, message: 'The server behind this address failed before it answered: {reason}.' },
  http_version_not_supported: { status: 505, message: 'Only HTTP/1.0 and HTTP/1.1 are spoken here.' },
  // The exposure edge
  host_not_exposed: {
    status: 404,
    // Anybody may ask: what there is instead, and how to find it, is for those who may look into the cluster.
    message: 'There is nothing at this address.',
  },
  host_disagrees: {
    status: 421,
    message: 'The host of this request is not the one that its connection was opened for. Open another connection.',
  },
  tls_required: { status: 400, message: 'HTTPS is spoken at this port: use https:// in the address.' },
  service_without_endpoints: { status: 503, message: 'The service behind {host} has no ready endpoint.' },
  // The management API
  credential_refused: {
    status: 401,
    message:
      'Send the header "Authorization: plain Credential=<ACCESS_KEY>,Signature=<SECRET_KEY>" with a valid key pair.',
  },
  too_many_attempts: {
    status: 429,
    message: 'Key pairs from your address were wrong too often. Try again in {retryAfterSeconds} s.',
  },
  key_disabled: { status: 403, message: 'This API key is disabled.' },
  cluster_id_malformed: {
    status: 400,
    message: 'A cluster ID is made of lower-case letters, digits and dashes, at most 40 characters.',
  },
  usage_question_malformed: {
    status: 400,
    message:
      'The question about usage cannot be answered: {reason}. Its parameters are since, until, by, model and key.',
  },
  cluster_not_found: { status: 404, message: 'There is no cluster {id}.' },
  management_route_not_found: { status: 404, message: 'There is no {path} in the management API.' },
  // The console
  console_login_refused: {
    status: 401,
    message: 'This access key and this secret key do not open the console. Both are in credentials.json.',
  },
  console_session_missing: { status: 401, message: 'You are not logged in, or not any more. Log in again.' },
  console_of_another: {
    status: 403,
    message: 'The console is for keys of the enterprise that owns this cluster; this key belongs to another.',
  },
  console_foreign_request: {
    status: 403,
    message: 'Only the console’s own page, or a program that sends the header x-sluice-console, may ask for this.',
  },
  console_busy: { status: 429, message: 'The console is open too often; close another page of it first.' },
  console_arrivals: { status: 429, message: 'This model cannot be taken now: {reason}. Try again in a moment.' },
  console_input: { status: 400, message: '{reason}' },
  console_object_missing: { status: 404, message: 'There is no {what} {name}.' },
  console_action_unavailable: { status: 501, message: 'The console cannot do that here: {reason}.' },
  model_not_taken: { status: 400, message: 'These files are not taken: {reason}' },
  upload_at: { status: 409, message: 'There are {bytes} bytes of {file} here; go on from there.' },
  upload_given_up: {
    status: 408,
    message: 'Nothing came for {seconds} seconds, so what had arrived was removed. Add the model again.',
  },
  // Starting and commands
  invalid_flag: { status: 400, message: '{flag}: {reason}' },
  unknown_command: { status: 400, message: 'There is no command {command}. {hint}' },
  nothing_runs: { status: 503, message: 'Nothing runs {where}. {hint}' },
  audit_log_missing: {
    status: 404,
    message: 'There is no audit log at {path} yet. --data names the data directory of a `sluice up`.',
  },
  data_directory_in_use: {
    status: 409,
    message: 'The data directory {path} is in use by the process {pid}. Stop it, or choose another with --data.',
  },
  doctor_while_running: {
    status: 409,
    message:
      'A Sluice runs in {path} (process {pid}): `sluice status` says how it is. `sluice doctor` looks at the directory of one that does not start.',
  },
  data_directory_unusable: {
    status: 400,
    message: 'The data directory {path} cannot be used: {reason}. Choose another with --data.',
  },
  data_file_unreadable: {
    status: 500,
    message: '{path} is damaged. Restore it from a copy, or start with another --data directory.',
  },
  no_data_directory: {
    status: 404,
    message: 'There is nothing of a `sluice up` in {path}. --data names its data directory.',
  },
  backup_failed: { status: 500, message: 'The backup was not made: {reason}' },
  backup_unreadable: { status: 400, message: '{path} cannot be restored: {reason}' },
  restore_needs_room: {
    status: 409,
    message: '{path} is not empty. Restore into a directory that is empty or does not exist, with --data.',
  },
  service_failed: { status: 500, message: 'The service was not changed as asked: {reason}.' },
  port_in_use: {
    status: 409,
    message: 'The {name} port {host}:{port} is in use. Choose another with {flag} (0 picks a free one).',
  },
  gateway_needs_card: {
    status: 409,
    message:
      'The gateway needs a cluster with at least one GPU card. Declare some with --gpus KIND=COUNT, or leave the gateway out with --no-gateway.',
  },
  cluster_unreachable: {
    status: 503,
    message: 'The cluster of {kubeconfig} cannot be reached: {reason}. Start it with `sluice up`, or name another.',
  },
  gateway_unreachable: {
    status: 503,
    message: 'The gateway at {gateway} cannot be reached: {reason}. `sluice status` says what runs.',
  },
  answer_failed: { status: 502, message: '{reason}' },
  no_gateway: {
    status: 404,
    message:
      'No gateway can be asked here: {reason}. Name its address with --gateway URL, such as http://127.0.0.1:8000.',
  },
  model_stays_awake: {
    status: 409,
    message: 'The model {model} stays awake: {reason}',
  },
  not_in_time: { status: 504, message: '{what} did not happen within {seconds} s: {reason}' },
  log_missing: { status: 404, message: 'There is no log of {name}: {reason}' },
  pods_do_not_end: {
    status: 504,
    message: 'These Pods did not end in time: {pods}. `kubectl describe pod` says more.',
  },
  cluster_refused: { status: 400, message: 'The cluster refused: {reason}' },
  access_key_not_found: {
    status: 404,
    message: 'There is no key pair {name}. `sluice access-key list` shows those there are.',
  },
  key_being_rotated: {
    status: 409,
    message:
      'The key pair {name} has two secrets until {until}. `sluice access-key rotate {name} --finish` ends the older one at once.',
  },
  cluster_kubeconfig_missing: {
    status: 404,
    message: 'The cluster {name} has no kubeconfig yet. `sluice cluster show {name}` says how it is.',
  },
  cluster_still_deleting: {
    status: 504,
    message: 'The cluster {name} is still being deleted. `sluice cluster show {name}` says how it is.',
  },
  api_key_not_found: { status: 404, message: 'There is no API key {name}. `sluice key list` shows those there are.' },
  model_source_unknown: { status: 400, message: 'The model {name} is not known here. Known: {known}.' },
  model_pull_failed: { status: 502, message: 'The model {name} could not be fetched: {reason}' },
  checksum_mismatch: { status: 502, message: '{file} has the checksum {actual}, not {expected}. It was not kept.' },
  image_refused: { status: 400, message: 'The image in {file} cannot be taken: {reason}.' },
  image_not_found: { status: 404, message: 'There is no image {name}. `sluice image list` shows those there are.' },
  images_busy: {
    status: 409,
    message: 'Another process changes the images in {path}, and has not finished within {seconds} s; try again.',
  },
  // The store
  store_unavailable: {
    status: 503,
    message:
      'The store at {path} takes no writes: {reason}. What was acknowledged before is safe; free or repair the disk and start again.',
  },
  store_corrupt: {
    status: 500,
    message:
      'The store file {path} cannot be read: {reason}. Restore it from a copy, or start with another --data directory.',
  },
  store_overloaded: {
    status: 503,
    message: 'The store has {waiting} writes waiting for the disk; try again in a moment.',
  },
  store_interrupted: {
    status: 503,
    message: 'The store at {path} was interrupted: {reason}. It is being opened again; try again in a moment.',
  },
  store_too_new: {
    status: 409,
    message:
      'The store file {path} was written by a newer version (schema {found}; this one knows {known}). Start that version, or restore a backup made before the upgrade.',
  },
} as const satisfies Record<string, CatalogEntry>

export type ErrorCode = keyof typeof errorCatalog
