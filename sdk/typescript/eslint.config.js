import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

export default defineConfig(
  { ignores: ['dist', 'release', 'src/schema.ts', 'tests/examples'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      'max-len': ['error', { code: 120, ignoreUrls: true }],
      'max-lines': ['error', 400],
      'max-lines-per-function': ['error', { max: 50, skipComments: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
    },
  },
  {
    files: ['src/**'],
    rules: {
      // The package runs in browsers, too.
      'no-restricted-globals': ['error', 'process', 'Buffer', 'setImmediate', 'window', 'document'],
      'no-restricted-imports': ['error', { patterns: ['node:*'] }],
    },
  },
  // The cases of a file are one function each, and their group is another one.
  { files: ['tests/**'], rules: { 'max-lines-per-function': 'off' } },
)
