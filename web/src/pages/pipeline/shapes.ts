// Names for what the operator's routes on the pipeline answer with.

import type { AdminSchemas } from '@/api'

export type Partition = AdminSchemas['Partition']
/** A built-in consumer of a topic. */
export type Reader = AdminSchemas['TopicReader']
export type ReaderPartition = Reader['partitions'][number]
export type Topic = AdminSchemas['Topic']

export type Place = AdminSchemas['Place']
export type LetterTopic = AdminSchemas['LetterTopic']
export type LetterState = AdminSchemas['LetterState']
export type Letter = AdminSchemas['Letter']
export type ShownLetter = AdminSchemas['ShownLetter']
/** What is in a record, as far as it can be read. */
export type Decoded = AdminSchemas['DecodedRecord']
export type DecodedSeries = AdminSchemas['DecodedSeries']
export type LetterFilter = AdminSchemas['LetterFilter']

export type Action = 'redrive' | 'discard'
export type ActionRequest = AdminSchemas['RedriveBody'] & { dryRun: boolean }
export type Outcome = AdminSchemas['LetterOutcome']
export type Fate = Outcome['fate']
export type Acted = AdminSchemas['LetterAction']

export type ReplayPartition = AdminSchemas['ReplayPartition']
export type PlannedReplay = AdminSchemas['PlannedReplay']
export type Replay = AdminSchemas['Replay']
export type ReplayState = Replay['state']
export type ReplayRequest = AdminSchemas['ReplayBody']
