// Names for the pipeline types of the operator API.

import type { AdminSchemas } from '@/api'

export type Partition = AdminSchemas['Partition']
/** A built-in consumer of a topic. */
export type Reader = AdminSchemas['TopicReader']
export type ReaderPartition = Reader['partitions'][number]
export type Topic = AdminSchemas['Topic']

export type RecordRef = AdminSchemas['Place']
export type DeadLetterTopic = AdminSchemas['LetterTopic']
export type DeadLetterState = AdminSchemas['LetterState']
export type DeadLetter = AdminSchemas['Letter']
export type DeadLetterDetail = AdminSchemas['ShownLetter']
/** The decoded content of a record. */
export type Decoded = AdminSchemas['DecodedRecord']
export type DecodedSeries = AdminSchemas['DecodedSeries']
export type DeadLetterFilter = AdminSchemas['LetterFilter']

export type Action = 'redrive' | 'discard'
export type ActionRequest = AdminSchemas['RedriveBody'] & { dryRun: boolean }
export type Outcome = AdminSchemas['LetterOutcome']
export type Fate = Outcome['fate']
export type ActionResult = AdminSchemas['LetterAction']

export type ReplayPartition = AdminSchemas['ReplayPartition']
export type PlannedReplay = AdminSchemas['PlannedReplay']
export type Replay = AdminSchemas['Replay']
export type ReplayState = Replay['state']
export type ReplayRequest = AdminSchemas['ReplayBody']
