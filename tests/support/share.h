/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - how much of a long test this build runs. An optimised build with all kernels runs every round; the builds
 * beside it, in which a round takes many times as long (sanitizers, assertions) or meets fewer kernels, every n-th. */
#ifndef TEST_SHARE_H
#define TEST_SHARE_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED
#endif

#if defined(TEST_SANITIZED)
enum { TEST_SHARE = 10 };
#elif !defined(NDEBUG) || defined(HONE_NO_AVX)
enum { TEST_SHARE = 5 };
#else
enum { TEST_SHARE = 1 };
#endif

#endif
