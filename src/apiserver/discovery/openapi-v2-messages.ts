import { isJsonObject } from '../../resources/json-value.ts'

/** The type of a field: a scalar, any JSON (as YAML text), or a message of the table below. */
export type Shape = 'string' | 'boolean' | 'integer' | 'number' | 'any' | MessageName

export type MessageName =
  | 'Document'
  | 'Info'
  | 'Paths'
  | 'PathItem'
  | 'Operation'
  | 'ParameterItem'
  | 'Reference'
  | 'Parameters'
  | 'Parameter'
  | 'OtherParameter'
  | 'BodyParameter'
  | 'QueryParameter'
  | 'PathParameter'
  | 'Responses'
  | 'ResponseItem'
  | 'Response'
  | 'ResponseSchema'
  | 'Schemas'
  | 'Schema'
  | 'FurtherProperties'
  | 'SchemaType'
  | 'SchemaItems'
  | 'SecurityDefinitions'
  | 'SecurityDefinition'
  | 'ApiKeySecurity'
  | 'SecurityRequirement'
  | 'Scopes'

export interface MessageField {
  readonly number: number
  readonly shape: Shape
  readonly repeated?: true
}

/** How an object of the JSON document is encoded as a message. */
export interface Message {
  /** By the names in the document, ordered by field number. */
  readonly fields?: Readonly<Record<string, MessageField>>
  /** The field for names that begin with `x-`, each with its value. */
  readonly extensions?: number
  /** The field for all other names, each with its value. */
  readonly entries?: MessageField
  /** A single field, chosen by the value. */
  readonly choose?: (value: unknown) => MessageField
}

const one = (number: number, shape: Shape): MessageField => ({ number, shape })
const each = (number: number, shape: Shape): MessageField => ({ number, shape, repeated: true })

/** The part of gnostic's `openapi.v2` package that Kubernetes' documents use; Go clients read no other encoding. */
export const messages: Readonly<Record<MessageName, Message>> = {
  Document: {
    fields: {
      swagger: one(1, 'string'),
      info: one(2, 'Info'),
      paths: one(8, 'Paths'),
      definitions: one(9, 'Schemas'),
      parameters: one(10, 'Parameters'),
      security: each(12, 'SecurityRequirement'),
      securityDefinitions: one(13, 'SecurityDefinitions'),
    },
    extensions: 16,
  },
  Info: {
    fields: { title: one(1, 'string'), version: one(2, 'string'), description: one(3, 'string') },
    extensions: 7,
  },
  Paths: { extensions: 1, entries: one(2, 'PathItem') },
  PathItem: {
    fields: {
      get: one(2, 'Operation'),
      put: one(3, 'Operation'),
      post: one(4, 'Operation'),
      delete: one(5, 'Operation'),
      options: one(6, 'Operation'),
      head: one(7, 'Operation'),
      patch: one(8, 'Operation'),
      parameters: each(9, 'ParameterItem'),
    },
    extensions: 10,
  },
  Operation: {
    fields: {
      tags: each(1, 'string'),
      summary: one(2, 'string'),
      description: one(3, 'string'),
      operationId: one(5, 'string'),
      produces: each(6, 'string'),
      consumes: each(7, 'string'),
      parameters: each(8, 'ParameterItem'),
      responses: one(9, 'Responses'),
      schemes: each(10, 'string'),
      deprecated: one(11, 'boolean'),
    },
    extensions: 13,
  },
  ParameterItem: {
    choose: (value) => (isJsonObject(value) && '$ref' in value ? one(2, 'Reference') : one(1, 'Parameter')),
  },
  Reference: { fields: { $ref: one(1, 'string'), description: one(2, 'string') } },
  Parameters: { entries: one(1, 'Parameter') },
  Parameter: {
    choose: (value) =>
      isJsonObject(value) && value['in'] === 'body' ? one(1, 'BodyParameter') : one(2, 'OtherParameter'),
  },
  OtherParameter: {
    choose: (value) =>
      isJsonObject(value) && value['in'] === 'path' ? one(4, 'PathParameter') : one(3, 'QueryParameter'),
  },
  BodyParameter: {
    fields: {
      description: one(1, 'string'),
      name: one(2, 'string'),
      in: one(3, 'string'),
      required: one(4, 'boolean'),
      schema: one(5, 'Schema'),
    },
    extensions: 6,
  },
  QueryParameter: {
    fields: {
      required: one(1, 'boolean'),
      in: one(2, 'string'),
      description: one(3, 'string'),
      name: one(4, 'string'),
      type: one(6, 'string'),
      format: one(7, 'string'),
      uniqueItems: one(20, 'boolean'),
    },
    extensions: 23,
  },
  PathParameter: {
    fields: {
      required: one(1, 'boolean'),
      in: one(2, 'string'),
      description: one(3, 'string'),
      name: one(4, 'string'),
      type: one(5, 'string'),
      format: one(6, 'string'),
      uniqueItems: one(19, 'boolean'),
    },
    extensions: 22,
  },
  Responses: { extensions: 2, entries: one(1, 'ResponseItem') },
  ResponseItem: { choose: () => one(1, 'Response') },
  Response: { fields: { description: one(1, 'string'), schema: one(2, 'ResponseSchema') }, extensions: 5 },
  ResponseSchema: { choose: () => one(1, 'Schema') },
  Schemas: { entries: one(1, 'Schema') },
  Schema: {
    fields: {
      $ref: one(1, 'string'),
      format: one(2, 'string'),
      title: one(3, 'string'),
      description: one(4, 'string'),
      default: one(5, 'any'),
      multipleOf: one(6, 'number'),
      maximum: one(7, 'number'),
      exclusiveMaximum: one(8, 'boolean'),
      minimum: one(9, 'number'),
      exclusiveMinimum: one(10, 'boolean'),
      maxLength: one(11, 'integer'),
      minLength: one(12, 'integer'),
      pattern: one(13, 'string'),
      maxItems: one(14, 'integer'),
      minItems: one(15, 'integer'),
      uniqueItems: one(16, 'boolean'),
      maxProperties: one(17, 'integer'),
      minProperties: one(18, 'integer'),
      required: each(19, 'string'),
      enum: each(20, 'any'),
      additionalProperties: one(21, 'FurtherProperties'),
      type: one(22, 'SchemaType'),
      items: one(23, 'SchemaItems'),
      properties: one(25, 'Schemas'),
    },
    extensions: 31,
  },
  FurtherProperties: { choose: (value) => (typeof value === 'boolean' ? one(2, 'boolean') : one(1, 'Schema')) },
  SchemaType: { choose: () => one(1, 'string') },
  SchemaItems: { choose: () => one(1, 'Schema') },
  SecurityDefinitions: { entries: one(1, 'SecurityDefinition') },
  SecurityDefinition: { choose: () => one(2, 'ApiKeySecurity') },
  ApiKeySecurity: {
    fields: { type: one(1, 'string'), name: one(2, 'string'), in: one(3, 'string'), description: one(4, 'string') },
    extensions: 5,
  },
  SecurityRequirement: { entries: one(1, 'Scopes') },
  Scopes: { choose: () => each(1, 'string') },
}
